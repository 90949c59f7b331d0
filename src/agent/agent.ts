import type { Interaction } from '../dialog.ts';
import type { Limits } from '../config.ts';
import { Fault, truncateMessage } from '../fault.ts';
import type { PathStep, TurnComplete } from '../frames.gen.ts';
import { compile, type Graph } from '../graph/compile.ts';
import { InvalidParams, type NodeLimits, type NodeContext } from '../graph/node.ts';
import type { Registry } from '../graph/registry.ts';
import { walk } from '../graph/walk.ts';
import type { ModelPool, ModelLease } from '../models/pool/pool.ts';
import type { LoadWait } from '../models/pool/loadWait.ts';
import type { SessionStorages } from '../storage/sessionStorages.ts';
import { RunningTurn, type TurnOptions } from './runningTurn.ts';

const defaultMaxSteps = 64;

/** What an agent is made of. */
export interface AgentOptions {
  readonly id: number;
  /** A graph document, not yet checked. */
  readonly graph: unknown;
  readonly registry: Registry;
  readonly pool: ModelPool;
  /** Model of the nodes that name none, before the graph's own default; "" = none. */
  readonly defaultModelName: string;
  readonly diagnostics: boolean;
  /** Nodes that one turn may visit; 0 = 64. */
  readonly maxSteps: number;
  /** The conversation to go on with. */
  readonly history: readonly Interaction[];
  readonly storages: SessionStorages;
  readonly limits: NodeLimits & Pick<Limits, 'nodes' | 'steps'>;
  /** Milliseconds that one turn may take. */
  readonly turnTimeoutMs: number;
  /** How a model of it is waited for that is not in memory. */
  readonly loading?: (model: string) => LoadWait;
}

/** Who hears of a turn. */
export type TurnListener = Pick<TurnOptions, 'emit' | 'backpressure' | 'onEnd'>;

interface ActiveTurn {
  readonly turnId: number;
  readonly abort: AbortController;
  readonly done: Promise<unknown>;
}

/** One conversation: a compiled graph, a dialog, and at most one turn at a time. */
export class Agent implements AsyncDisposable {
  readonly id: number;
  readonly warnings: readonly string[];
  readonly #graph: Graph;
  // One use a model, however many nodes share it.
  readonly #leases: ModelLeases;
  readonly #options: AgentOptions;
  readonly #disposal = new AbortController();
  // What nodes have warned of since the last turn.
  readonly #pendingWarnings: string[];
  #dialog: readonly Interaction[];
  #activeTurn: ActiveTurn | undefined;
  #warming: Promise<void> | undefined;
  #turnCount = 0;

  private constructor(graph: Graph, uses: ModelLeases, noticed: string[], options: AgentOptions) {
    this.id = options.id;
    this.warnings = noticed.splice(0);
    this.#graph = graph;
    this.#leases = uses;
    this.#pendingWarnings = noticed;
    this.#options = options;
    this.#dialog = options.history;
  }

  /** The conversation so far. */
  get history(): readonly Interaction[] {
    return this.#dialog;
  }

  /**
   * Compiles the graph and loads its models.
   * @throws Fault of the graph (3003, 3008) or of a model (6007 to 6009); then nothing is kept.
   */
  static async create(options: AgentOptions): Promise<Agent> {
    if (options.maxSteps > options.limits.steps) {
      const { steps } = options.limits;
      throw new Fault('LIMIT_EXCEEDED', `max_steps_per_turn is ${options.maxSteps}, and ${steps} are allowed`);
    }
    const uses = new Map<string, Promise<ModelLease>>();
    const noticed: string[] = [];
    const contextFor = (nodeName: string, graphDefault: string): NodeContext => ({
      nodeName,
      warn: (warning) => noticed.push(truncateMessage(warning)),
      limits: options.limits,
      strings: (nameOrPath) => options.storages.find(nameOrPath),
      async model(name = options.defaultModelName || graphDefault) {
        if (name === '' && options.pool.needsName) throw noModelError();
        const known = uses.get(name);
        if (known) return known;
        const use = options.pool.lease(name, options.loading?.(name));
        uses.set(name, use);
        const { model } = await use;
        for (const note of model.notes) noticed.push(truncateMessage(`the model "${name}": ${note}`));
        return use;
      },
    });
    try {
      const graph = await compile(options.graph, {
        registry: options.registry,
        maxNodes: options.limits.nodes,
        warn: (warning) => noticed.push(truncateMessage(warning)),
        contextFor,
      });
      return new Agent(graph, uses, noticed, options);
    } catch (error) {
      await releaseLeases(uses);
      throw error;
    }
  }

  /** Evaluates what can be evaluated before a message is there. */
  async warmUp(): Promise<void> {
    const { signal } = this.#disposal;
    const turn = this.#createTurn({
      turnId: 0,
      message: '',
      variables: {},
      signal,
      emit: () => undefined,
      backpressure: () => undefined,
    });
    this.#warming = (async () => {
      for (const { node } of this.#graph.steps.values()) await node.warmUp?.(turn);
    })();
    await this.#warming;
  }

  /**
   * Starts a turn and resolves when its last frame has been emitted, with what made it fail if it failed.
   * @throws Fault AGENT_BUSY while another turn runs.
   */
  send(text: string, variables: Readonly<Record<string, string>>, listener: TurnListener): Promise<Fault | undefined> {
    this.#assertIdle();
    const abort = new AbortController();
    const turnId = ++this.#turnCount;
    const turn = this.#createTurn({ turnId, message: text, variables, signal: abort.signal, ...listener });
    for (const warning of this.#pendingWarnings.splice(0)) turn.warn(warning);
    const done = this.#run(turn, abort);
    this.#activeTurn = { turnId, abort, done };
    return done;
  }

  /** Cancels a turn; 0 = the current one. Nothing happens when no such turn runs. */
  cancel(turnId = 0): void {
    if (this.#activeTurn && (turnId === 0 || turnId === this.#activeTurn.turnId)) this.#activeTurn.abort.abort();
  }

  /**
   * Changes live parameters of a node.
   * @throws Fault AGENT_BUSY while a turn runs, UNKNOWN_NODE, PARAM_NOT_MUTABLE, INVALID_PARAM_VALUE.
   */
  async changeParams(nodeName: string, changes: Readonly<Record<string, unknown>>): Promise<void> {
    this.#assertIdle();
    await this.#graph.changeParams(nodeName, changes);
  }

  /** Forgets the conversation; a turn that runs is cancelled first. */
  async clear(): Promise<void> {
    await this.#cancelAndWait();
    this.#dialog = [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort();
    await this.#cancelAndWait();
    await this.#warming?.catch(() => undefined);
    await this.#graph[Symbol.asyncDispose]();
    await releaseLeases(this.#leases);
  }

  #createTurn(start: Omit<TurnOptions, 'agentId' | 'dialog' | 'diagnostics'>): RunningTurn {
    const { id: agentId, diagnostics } = this.#options;
    return new RunningTurn({ ...start, agentId, diagnostics, dialog: { interactions: this.#dialog } });
  }

  #assertIdle(): void {
    if (!this.#activeTurn) return;
    const { turnId } = this.#activeTurn;
    throw new Fault('AGENT_BUSY', `agent ${this.id} is in turn ${turnId}; wait for its turnComplete, or cancel it`);
  }

  async #cancelAndWait(): Promise<void> {
    this.cancel();
    await this.#activeTurn?.done;
  }

  async #run(turn: RunningTurn, abort: AbortController): Promise<Fault | undefined> {
    const { turnTimeoutMs } = this.#options;
    const sentence = `the turn took longer than ${turnTimeoutMs / 1000} s; ask for less, or raise --turn-timeout`;
    const timeout = setTimeout(() => abort.abort(new Fault('INFERENCE_TIMEOUT', sentence)), turnTimeoutMs);
    const path: PathStep[] = [];
    const { status, mark, fault } = await this.#walk(turn, path, abort.signal);
    clearTimeout(timeout);
    this.#dialog = [...this.#dialog, turn.interaction(mark)];
    this.#activeTurn = undefined;
    const error = fault ? { code: fault.code, name: fault.name, message: fault.message } : null;
    turn.complete({ status, error, path });
    return fault;
  }

  async #walk(turn: RunningTurn, path: PathStep[], signal: AbortSignal): Promise<WalkOutcome> {
    try {
      const maxSteps = this.#options.maxSteps || defaultMaxSteps;
      await walk(this.#graph, turn, { maxSteps, enter: (name) => turn.enter(name), path });
      turn.flush();
      return { status: 'SUCCESS' };
    } catch (thrown) {
      const error: unknown = signal.aborted ? signal.reason : thrown;
      if (signal.aborted && !(error instanceof Fault)) return { status: 'CANCELLED', mark: 'cancelled' };
      return { status: 'ERROR', mark: 'failed', fault: Fault.from(error) };
    }
  }
}

interface WalkOutcome {
  readonly status: TurnComplete['status'];
  readonly mark?: Interaction['mark'];
  readonly fault?: Fault;
}

const noModelError = (): InvalidParams =>
  new InvalidParams([
    {
      pointer: '/model_name',
      message: 'names no model, and neither the graph nor the client has a default; name one of models.json',
    },
  ]);

type ModelLeases = ReadonlyMap<string, Promise<ModelLease>>;

async function releaseLeases(uses: ModelLeases): Promise<void> {
  for (const use of await Promise.allSettled(uses.values())) {
    if (use.status === 'fulfilled') await use.value[Symbol.asyncDispose]();
  }
}
