import type { Limits, NodeLimits } from '../compile/node.ts';
import { runChunk } from '../../base/eventLoop.ts';
import { type AgentMemory, agentMemory } from './agentMemory.ts';
import { AgentModels, type AgentModelsOptions } from './agentModels.ts';
import { AgentState, readSaved } from './agentState.ts';
import { createBackground } from './background.ts';
import { compile, type Graph } from '../compile/compile.ts';
import type { ClientTools } from '../compile/clientTools.ts';
import { sizeOf } from '../storage/sessionMemory.ts';
import type { SessionStorages } from '../storage/sessionStorages.ts';
import type { Interaction } from '../../chat/dialog.ts';
import { Fault, truncateMessage } from '../../protocol/fault.ts';
import type { PathStep, ToolControl, ToolResult } from '../../protocol/frames.gen.ts';
import type { Pace } from '../../inference/contract/pace.ts';
import type { Registry } from '../compile/registry.ts';
import { notAwaited } from './pendingResults.ts';
import { RunningTurn, runTurn, type WalkOutcome } from './runningTurn.ts';
import { type Emit, type TurnOptions, type TurnTimeout, turnTimeout } from './turnOptions.ts';

// Nodes that one turn may visit.
const defaultMaxSteps = 64;

export interface AgentOptions extends Omit<AgentModelsOptions, 'warn'> {
  readonly id: number;
  /** A graph document, not yet checked. */
  readonly graph: unknown;
  /** The tools that the client brings; absent: they are not known, and the graph may name any. */
  readonly clientTools?: ClientTools;
  readonly registry: Registry;
  /** Whether the graph is a part of another one, so that its linter would warn of what is not there. Default false. */
  readonly isPart?: boolean;
  /** Sends NodeEvents and debug_info. Default false. */
  readonly diagnostics?: boolean;
  /** Maximum number of nodes that one turn may visit; 0 = 64, the default. */
  readonly maxSteps?: number;
  /** A saved dialog, which may have a state of the agent, too. Default: none. */
  readonly history?: readonly Interaction[];
  readonly storages: SessionStorages;
  /** Limits of all turns of its session. Default: none. */
  readonly pace?: Pace;
  readonly limits: NodeLimits & Pick<Limits, 'maxNodes' | 'maxSteps'>;
  /** Maximum duration of a turn, in milliseconds. */
  readonly turnTimeoutMs: number;
  /** Sends a frame that answers no request: of work after a turn. Absent: there are none. */
  readonly emitLater?: Emit | undefined;
  /** Receives why work after a turn failed; the next turn has a warning of it, too. */
  readonly onWorkFailed?: (fault: Fault) => void;
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
  /** Its message, if the dialog has that already, because of a line that came after it. */
  recorded?: Interaction;
}

/** An agent: one conversation with a compiled graph. It has a dialog, and runs at most one turn at a time. */
export class Agent implements AsyncDisposable {
  readonly id: number;
  /** Warnings of its creation. */
  readonly warnings: readonly string[];
  readonly models: AgentModels;
  readonly #graph: Graph;
  readonly #memory: AgentMemory;
  readonly #state: AgentState;
  readonly #options: AgentOptions;
  // Aborted when the agent is disposed.
  readonly #disposal = new AbortController();
  // Warnings of nodes since the last turn; the next turn reports them.
  readonly #pendingWarnings: string[];
  readonly #background: ReturnType<typeof createBackground>;
  #dialog: Interaction[];
  #activeTurn: ActiveTurn | undefined;
  #warming: Promise<void> | undefined;
  #turnCount = 0;

  private constructor(graph: Graph, { models, memory, state, dialog, warnings }: AgentParts, options: AgentOptions) {
    this.id = options.id;
    this.warnings = warnings.splice(0);
    this.#graph = graph;
    this.models = models;
    this.#memory = memory;
    this.#pendingWarnings = warnings;
    this.#options = options;
    this.#state = state;
    this.#dialog = [...dialog];
    this.#background = createBackground(options.pace, (warning, thrown) => {
      warnings.push(truncateMessage(warning));
      if (thrown !== undefined) options.onWorkFailed?.(Fault.from(thrown));
    });
  }

  /** The conversation so far, with the state of the agent, to be saved. */
  get history(): readonly Interaction[] {
    return this.#state.save(this.#dialog);
  }

  /** Compiles the graph, which loads its models. @throws Fault 3003, 3008, 6007 to 6009, LIMIT_EXCEEDED */
  static async create(options: AgentOptions): Promise<Agent> {
    const { maxSteps = 0, history = [], limits, storages } = options;
    if (maxSteps > limits.maxSteps)
      throw new Fault('LIMIT_EXCEEDED', `max_steps_per_turn is ${maxSteps}, and ${limits.maxSteps} are allowed`);
    const warnings: string[] = [];
    const warn = (warning: string): void => void warnings.push(truncateMessage(warning));
    const models = new AgentModels({ ...options, warn });
    const memory = agentMemory(storages.memory, options.id);
    try {
      memory.add('dialog', history);
      const saved = readSaved(history);
      const state = new AgentState(memory, saved);
      await runChunk(() => memory.add('graph', options.graph));
      for (const tool of options.clientTools?.values() ?? []) memory.add('graph', tool);
      const graph = await compile(options.graph, {
        registry: options.registry,
        maxNodes: limits.maxNodes,
        warn: options.isPart ? undefined : warn,
        clientTools: options.clientTools,
        contextFor: (nodeName, graphDefault) => ({
          nodeName,
          warn,
          limits,
          strings: (nameOrPath) => storages.find(nameOrPath),
          addKnowledge: async (name, entries) => (await storages.add(name, entries)).ids,
          setMade: (thing, bytes) => memory.setMade(nodeName, thing, bytes),
          checkModel: (name, purpose) => models.check(name, graphDefault, purpose),
          model: (name, purpose) => models.lease(name, graphDefault, purpose),
          retriever: (storage, matching) => models.openRetriever(storage, nodeName, matching),
        }),
      });
      models.warnOfUnusedDefault();
      return new Agent(graph, { models, memory, state, dialog: saved.dialog, warnings }, options);
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
   * Runs a turn. In the mode MANUAL it ends at once: the message is recorded.
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
    const timeout = turnTimeout(turnTimeoutMs, onTimeout, pace);
    const turn = this.#createTurn({ turnId, message: text, variables, signal, timeout, keep, ...listener });
    for (const warning of this.#pendingWarnings.splice(0)) turn.warn(warning);
    const done = this.#run(turn, timeout);
    this.#activeTurn = { turnId, turn, abort, done };
    return done;
  }

  /** Cancels a turn, if it runs; 0 = the current one. @param reason why the server does; undefined: the client does. */
  cancel(turnId = 0, reason?: Fault): void {
    if (this.#activeTurn && (turnId === 0 || turnId === this.#activeTurn.turnId)) this.#activeTurn.abort.abort(reason);
  }

  /**
   * Gives the current turn results of its calls, which may change the mode.
   * @param turnId 0 = the current turn.
   * @throws Fault NO_RESULTS_AWAITED, LIMIT_EXCEEDED, MALFORMED_MESSAGE; then none of the results is taken.
   */
  submitResults(turnId: number, results: readonly ToolResult[]): void {
    const active = this.#activeTurn;
    if (!active) throw notAwaited(`agent ${this.id} is in no turn`);
    if (turnId !== 0 && turnId !== active.turnId)
      throw notAwaited(`agent ${this.id} is in turn ${active.turnId}, not in turn ${turnId}`);
    active.turn.submitResults(results);
    for (const { control } of results) this.setMode(control?.mode);
  }

  /** Sets who answers from the next message on. A turn that runs goes on. */
  setMode(mode: ToolControl['mode'] = 'UNCHANGED'): void {
    if (mode !== 'UNCHANGED') this.#state.mode = mode;
  }

  /** Sets variables of all later turns. @throws Fault MALFORMED_MESSAGE, LIMIT_EXCEEDED; then nothing has changed. */
  setVariables(json: string): void {
    this.#state.setVariables(json);
  }

  /**
   * Adds a line to the dialog: while a turn runs, after its message and before its answer. Its prompts do not have the line.
   * @returns what sends a text in the running turn; undefined: none runs.
   * @throws Fault LIMIT_EXCEEDED
   */
  appendText(text: string, role: 'user' | 'assistant'): ((text: string) => void) | undefined {
    const line: Interaction =
      role === 'user' ? { user: text, assistant: '', mark: 'recorded' } : { user: '', assistant: text };
    this.#memory.add('dialog', line);
    const active = this.#activeTurn;
    const message = active?.turn.record();
    if (active && message) {
      this.#memory.add('dialog', message, false);
      active.recorded = message;
      this.#dialog.push(message);
    }
    this.#dialog.push(line);
    return active && ((sent) => active.turn.notify(sent));
  }

  /** Adds interactions to the dialog, between turns. @throws Fault AGENT_BUSY while a turn runs, LIMIT_EXCEEDED. */
  append(interactions: readonly Interaction[]): void {
    this.#assertIdle();
    this.#memory.add('dialog', interactions);
    for (const interaction of interactions) this.#dialog.push(interaction);
  }

  /** @throws Fault AGENT_BUSY, UNKNOWN_NODE, PARAM_NOT_MUTABLE, INVALID_PARAM_VALUE, LIMIT_EXCEEDED */
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
    await this.#background.stop();
    this.#dialog = [];
    this.#state.clear();
    this.#memory.empty('dialog');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The reason of a warm-up that ends.
    this.#disposal.abort(new Fault('AGENT_ALREADY_DESTROYED', `agent ${this.id} has been destroyed`));
    await this.#cancelAndWait();
    await this.#warming?.catch(() => undefined);
    await this.#background.stop();
    await this.#graph[Symbol.asyncDispose]();
    await this.models[Symbol.asyncDispose]();
    this.#memory[Symbol.dispose]();
  }

  #createTurn(
    start: Omit<TurnOptions, 'agentId' | 'dialog' | 'state' | 'diagnostics' | 'emitLater' | 'modelChoices'>,
  ): RunningTurn {
    const { id: agentId, diagnostics = false, pace, emitLater } = this.#options;
    const dialog = { interactions: this.#dialog.filter(({ mark }) => mark !== 'forgotten') };
    const own = { agentId, diagnostics, dialog, state: this.#state, emitLater, modelChoices: this.models.choices };
    return new RunningTurn({ ...start, ...own, ...(pace && { pace }) });
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

  async #run(turn: RunningTurn, timeout: TurnTimeout): Promise<Fault | undefined> {
    const path: PathStep[] = [];
    const maxSteps = this.#options.maxSteps || defaultMaxSteps;
    const stopListening = this.models.onSlowLoad((model) =>
      turn.emitEvent('model_loading', { model, message: 'loading takes longer than usual' }, { always: true }),
    );
    const isManual = this.#state.mode === 'MANUAL';
    const outcome = isManual ? manualOutcome : runTurn(this.#graph, turn, { maxSteps, path });
    const { status, mark, error: thrown } = await outcome;
    stopListening();
    timeout[Symbol.dispose]();
    if (status === 'SUCCESS') this.models.turnFinished();
    this.#state.pending = turn.pendingAfter(mark);
    this.#keep(turn.interaction(mark), thrown?.name);
    this.#activeTurn = undefined;
    const error = thrown ? { code: thrown.code, name: thrown.name, message: thrown.message } : null;
    turn.complete({ status, error, path });
    for (const [name, work] of turn.workAfter(mark)) this.#background.add(name, work);
    return status === 'ERROR' ? thrown : undefined;
  }

  /** Adds a turn that has ended to the dialog. */
  #keep(interaction: Interaction, error: string | undefined): void {
    this.#memory.empty('turn');
    // What fits into no prompt is no part of the conversation: it would only fill saves.
    const isTooLarge = error === 'PROMPT_TOO_LARGE' && interaction.assistant === '';
    const recorded = this.#activeTurn?.recorded;
    if (recorded && (isTooLarge || interaction.mark === 'forgotten')) {
      const instead: readonly Interaction[] = isTooLarge ? [] : [{ ...recorded, mark: 'forgotten' }];
      this.#dialog = this.#dialog.flatMap((each) => (each === recorded ? instead : [each]));
    }
    if (isTooLarge) return;
    this.#dialog.push(interaction);
    this.#memory.add('dialog', interaction, false);
  }
}

/** How a turn ends that people answer. */
const manualOutcome: WalkOutcome = { status: 'SUCCESS', mark: 'recorded' };

interface AgentParts {
  readonly models: AgentModels;
  readonly memory: AgentMemory;
  readonly state: AgentState;
  readonly dialog: readonly Interaction[];
  readonly warnings: string[];
}
