import {
  InvalidParams,
  type Limits,
  type NodeContext,
  type NodeLimits,
  paramError,
  type RetrieverMatching,
} from '../compile/node.ts';
import { createRetriever, type Retriever } from '../retrieval/retriever.ts';
import type { StringStorage } from '../storage/stringStorage.ts';
import { runChunk } from '../../base/eventLoop.ts';
import { AgentMemory } from './agentMemory.ts';
import { AgentModels } from './agentModels.ts';
import { compile, type CompileOptions, type Graph } from '../compile/compile.ts';
import type { ClientTools } from '../compile/clientTools.ts';
import { sizeOf } from '../storage/sessionMemory.ts';
import type { SessionStorages } from '../storage/sessionStorages.ts';
import type { Interaction } from '../../chat/dialog.ts';
import { Fault, truncateMessage } from '../../protocol/fault.ts';
import type { PathStep, ToolResult } from '../../protocol/frames.gen.ts';
import type { Pace } from '../../inference/contract/pace.ts';
import type { Registry } from '../compile/registry.ts';
import type { ModelPool } from '../../inference/models/pool/pool.ts';
import type { LoadWait } from '../../inference/models/pool/loadWait.ts';
import type { VectorPool } from '../retrieval/vectors/vectorPool.ts';
import { notAwaited } from './pendingResults.ts';
import { RunningTurn, runTurn } from './runningTurn.ts';
import { type TurnOptions, TurnTimeout } from './turnOptions.ts';

// Nodes that one turn may visit.
const defaultMaxSteps = 64;

/** Options of an agent. */
export interface AgentOptions {
  readonly id: number;
  /** A graph document, not yet checked. */
  readonly graph: unknown;
  /** The tools that the client brings; absent: they are not known, and the graph may name any. */
  readonly clientTools?: ClientTools;
  readonly registry: Registry;
  /** Whether the graph is a part of another one, so that its linter would warn of what is not there. Default false. */
  readonly isPart?: boolean;
  readonly pool: ModelPool;
  /** Model of the nodes that name none; takes precedence over the graph's own default. "" = none. */
  readonly defaultModelName: string;
  /** Sends NodeEvents and debug_info. Default false. */
  readonly diagnostics?: boolean;
  /** Maximum number of nodes that one turn may visit; 0 = 64, the default. */
  readonly maxSteps?: number;
  /** The conversation so far. Default: none. */
  readonly history?: readonly Interaction[];
  readonly storages: SessionStorages;
  /** The vectors of storages; absent: only words are matched. */
  readonly vectors?: VectorPool;
  /** Limits of all turns of its session. Default: none. */
  readonly pace?: Pace;
  readonly limits: NodeLimits & Pick<Limits, 'nodes' | 'steps'>;
  /** Maximum duration of a turn, in milliseconds. */
  readonly turnTimeoutMs: number;
  /** How to wait for a model that is not in memory. */
  readonly loadWaitFor?: (model: string) => LoadWait;
}

/** Receives the frames of a turn, limits their rate, and says how urgent the turn is. */
export type TurnListener = Pick<
  TurnOptions,
  'emit' | 'backpressure' | 'onEnd' | 'priority' | 'continuation' | 'endsWithCalls'
>;

interface ActiveTurn {
  readonly turnId: number;
  readonly turn: RunningTurn;
  readonly abort: AbortController;
  readonly done: Promise<unknown>;
}

/** An agent: one conversation with a compiled graph. It has a dialog, and runs at most one turn at a time. */
export class Agent implements AsyncDisposable {
  readonly id: number;
  /** Warnings of its creation. */
  readonly warnings: readonly string[];
  readonly #graph: Graph;
  readonly #models: AgentModels;
  readonly #memory: AgentMemory;
  readonly #options: AgentOptions;
  // Aborted when the agent is disposed.
  readonly #disposal = new AbortController();
  // Warnings of nodes since the last turn; the next turn reports them.
  readonly #pendingWarnings: string[];
  #dialog: Interaction[];
  #activeTurn: ActiveTurn | undefined;
  #warming: Promise<void> | undefined;
  #turnCount = 0;

  private constructor(graph: Graph, { models, memory }: NodeResources, warnings: string[], options: AgentOptions) {
    this.id = options.id;
    this.warnings = warnings.splice(0);
    this.#graph = graph;
    this.#models = models;
    this.#memory = memory;
    this.#pendingWarnings = warnings;
    this.#options = options;
    this.#dialog = [...(options.history ?? [])];
  }

  /** The models of its nodes. */
  get modelNames(): readonly string[] {
    return this.#models.names;
  }

  /** The conversation so far. */
  get history(): readonly Interaction[] {
    return this.#dialog;
  }

  /**
   * Creates an agent: compiles the graph, which loads its models.
   * @throws Fault LIMIT_EXCEEDED, of the graph (3003, 3008) or of a model (6007 to 6009); then all leases are released.
   */
  static async create(options: AgentOptions): Promise<Agent> {
    const { maxSteps = 0, history = [] } = options;
    const { steps } = options.limits;
    if (maxSteps > steps)
      throw new Fault('LIMIT_EXCEEDED', `max_steps_per_turn is ${maxSteps}, and ${steps} are allowed`);
    const warnings: string[] = [];
    const warn = (warning: string): void => void warnings.push(truncateMessage(warning));
    const { pool, defaultModelName: clientDefault, loadWaitFor, vectors } = options;
    const models = new AgentModels({ pool, clientDefault, loadWaitFor, vectors, warn });
    const memory = new AgentMemory(options.storages.memory, options.id);
    const resources = { ...options, models, memory, warn };
    try {
      memory.add('dialog', history);
      await runChunk(() => memory.add('graph', options.graph));
      for (const tool of options.clientTools?.values() ?? []) memory.add('graph', tool);
      const graph = await compile(options.graph, {
        registry: options.registry,
        maxNodes: options.limits.nodes,
        warn: options.isPart ? undefined : warn,
        clientTools: options.clientTools,
        contextFor: nodeContexts(resources),
      });
      models.warnOfUnusedDefault();
      return new Agent(graph, resources, warnings, options);
    } catch (error) {
      memory[Symbol.dispose]();
      await models[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Prefills the part of each node's prompt that does not depend on the message. @throws Fault of the engine */
  async warmUp(): Promise<void> {
    const { signal } = this.#disposal;
    const turn = this.#createTurn({
      turnId: 0,
      message: '',
      variables: {},
      signal,
      // A player who waits for an answer does not wait for a warm-up.
      priority: 'BACKGROUND',
      emit: () => undefined,
      backpressure: () => undefined,
    });
    this.#warming = (async () => {
      for (const { node } of this.#graph.steps.values()) await node.warmUp?.(turn);
    })();
    await this.#warming;
  }

  /**
   * Runs a turn.
   * @returns when its last frame was emitted: the fault if it failed, else undefined.
   * @throws Fault AGENT_BUSY while another turn runs, LIMIT_EXCEEDED.
   */
  send(text: string, variables: Readonly<Record<string, string>>, listener: TurnListener): Promise<Fault | undefined> {
    this.#assertIdle();
    const keep = (part: unknown): void => this.#memory.add('turn', part);
    keep([text, variables]);
    const abort = new AbortController();
    const { signal } = abort;
    const turnId = ++this.#turnCount;
    const { turnTimeoutMs, pace } = this.#options;
    const message = `the turn took longer than ${turnTimeoutMs / 1000} s; ask for less, or raise --turn-timeout`;
    const onTimeout = (): void => abort.abort(new Fault('INFERENCE_TIMEOUT', message));
    const timeout = new TurnTimeout(turnTimeoutMs, onTimeout, pace);
    const turn = this.#createTurn({ turnId, message: text, variables, signal, timeout, keep, ...listener });
    for (const warning of this.#pendingWarnings.splice(0)) turn.warn(warning);
    const done = this.#run(turn, { signal, timeout });
    this.#activeTurn = { turnId, turn, abort, done };
    return done;
  }

  /**
   * Cancels a turn; 0 = the current one. Does nothing when no such turn runs.
   * @param reason why the server cancels it, for the turn summary; undefined when the client does.
   */
  cancel(turnId = 0, reason?: Fault): void {
    if (this.#activeTurn && (turnId === 0 || turnId === this.#activeTurn.turnId)) this.#activeTurn.abort.abort(reason);
  }

  /**
   * Gives the current turn results of its calls.
   * @param turnId 0 = the current turn.
   * @throws Fault NO_RESULTS_AWAITED, LIMIT_EXCEEDED; then none of the results is taken.
   */
  submitResults(turnId: number, results: readonly ToolResult[]): void {
    const active = this.#activeTurn;
    if (!active) throw notAwaited(`agent ${this.id} is in no turn`);
    if (turnId !== 0 && turnId !== active.turnId)
      throw notAwaited(`agent ${this.id} is in turn ${active.turnId}, not in turn ${turnId}`);
    active.turn.submitResults(results);
  }

  /** Adds interactions to the dialog, between turns. @throws Fault AGENT_BUSY while a turn runs, LIMIT_EXCEEDED. */
  append(interactions: readonly Interaction[]): void {
    this.#assertIdle();
    this.#memory.add('dialog', interactions);
    for (const interaction of interactions) this.#dialog.push(interaction);
  }

  /**
   * Changes live parameters of a node.
   * @throws Fault AGENT_BUSY while a turn runs, UNKNOWN_NODE, PARAM_NOT_MUTABLE, INVALID_PARAM_VALUE, LIMIT_EXCEEDED.
   */
  async changeParams(nodeName: string, changes: Readonly<Record<string, unknown>>): Promise<void> {
    this.#assertIdle();
    const params = { ...this.#graph.steps.get(nodeName)?.rawParams, ...changes };
    // There is no turn: what does not fit is refused before the node has changed.
    this.#memory.add('turn', params);
    await this.#graph.changeParams(nodeName, changes).finally(() => this.#memory.empty('turn'));
    this.#memory.setMade(`params of ${nodeName}`, params, sizeOf(params));
  }

  /** Deletes the dialog; a running turn is cancelled first. */
  async clear(): Promise<void> {
    await this.#cancelAndWait();
    this.#dialog = [];
    this.#memory.empty('dialog');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The reason of a warm-up that ends.
    this.#disposal.abort(new Fault('AGENT_ALREADY_DESTROYED', `agent ${this.id} has been destroyed`));
    await this.#cancelAndWait();
    await this.#warming?.catch(() => undefined);
    await this.#graph[Symbol.asyncDispose]();
    await this.#models[Symbol.asyncDispose]();
    this.#memory[Symbol.dispose]();
  }

  #createTurn(start: Omit<TurnOptions, 'agentId' | 'dialog' | 'diagnostics'>): RunningTurn {
    const { id: agentId, diagnostics = false, pace } = this.#options;
    const dialog = { interactions: this.#dialog.filter(({ mark }) => mark !== 'forgotten') };
    return new RunningTurn({ ...start, agentId, diagnostics, dialog, ...(pace && { pace }) });
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

  async #run(turn: RunningTurn, { signal, timeout }: { signal: AbortSignal; timeout: TurnTimeout }) {
    const path: PathStep[] = [];
    const maxSteps = this.#options.maxSteps || defaultMaxSteps;
    const stopListening = this.#models.onSlowLoad((model) =>
      turn.emitEvent('model_loading', { model, message: 'loading takes longer than usual' }, { always: true }),
    );
    const { status, mark, error: thrown } = await runTurn(this.#graph, turn, { maxSteps, path, signal });
    stopListening();
    timeout[Symbol.dispose]();
    if (status === 'SUCCESS') this.#models.turnFinished();
    const interaction = turn.interaction(mark);
    this.#memory.empty('turn');
    // What fits into no prompt is no part of the conversation: it would only fill saves.
    if (thrown?.name !== 'PROMPT_TOO_LARGE' || interaction.assistant !== '') {
      this.#dialog.push(interaction);
      this.#memory.add('dialog', interaction, false);
    }
    this.#activeTurn = undefined;
    const error = thrown ? { code: thrown.code, name: thrown.name, message: thrown.message } : null;
    turn.complete({ status, error, path });
    return status === 'ERROR' ? thrown : undefined;
  }
}

/** What the nodes of an agent have access to. */
interface NodeResources extends Pick<NodeContext, 'limits' | 'warn'> {
  readonly storages: SessionStorages;
  readonly models: AgentModels;
  readonly memory: AgentMemory;
}

/** Gives the nodes of a graph their contexts. */
const nodeContexts =
  ({ limits, warn, storages, models, memory }: NodeResources): CompileOptions['contextFor'] =>
  (nodeName, graphDefault) => ({
    nodeName,
    warn,
    limits,
    strings: (nameOrPath) => storages.find(nameOrPath),
    setMade: (thing, bytes) => memory.setMade(nodeName, thing, bytes),
    checkModel: (name, purpose) => models.check(name, graphDefault, purpose),
    model: (name, purpose) => models.lease(name, graphDefault, purpose),
    retriever: (storage, matching) => openRetriever(storage, nodeName, matching, models),
  });

/**
 * Opens the search of a node over a storage.
 * @param name what messages call the storage.
 * @throws InvalidParams when it cannot match the entries so, the Fault of a model that cannot be loaded.
 */
async function openRetriever(
  storage: StringStorage,
  name: string,
  { match, embeddingModel, beforeLoad }: RetrieverMatching,
  models: AgentModels,
): Promise<Retriever> {
  if (match === 'words') return createRetriever(storage);
  const model = embeddingModel === '' ? (storage.knowledge?.embeddingModel ?? '') : embeddingModel;
  if (model === '') {
    const message = `is "${match}", and neither the node nor its storage names an embedding_model; name one, or match by "words"`;
    throw new InvalidParams([{ pointer: '/match', message }]);
  }
  try {
    models.check(model, '', 'embedding');
    await beforeLoad?.();
    return createRetriever(storage, await models.openVectors(storage, name, model));
  } catch (error) {
    throw paramError('/embedding_model', error);
  }
}
