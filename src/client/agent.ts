import type {
  ServerFrame,
  AppendDialogRequest,
  AppendTextRequest,
  CreateAgentResponse,
  ToolResult,
} from '../protocol/frames.gen.ts';
import { documentText } from '../protocol/codec/json.ts';
import { isPlainObject } from '../protocol/codec/wellFormed.ts';
import type { Connection } from './connection.ts';
import type { ToolExecutor } from './executor/executor.ts';
import { PreviousResults } from './executor/previousResults.ts';
import type { ToolOutcome } from './executor/toolOutcome.ts';
import type { TurnContext } from './executor/defineTool.ts';
import { Lifetime } from './lifetime.ts';
import { checks, optionsCheck } from './options.ts';
import { type SendOptions, TurnHandle, type TurnAgent } from './turn.ts';

/** The result of a call that a program has run by itself. `ok` is true and `lifespan` is TURN where they are absent. */
export type SubmittedResult = Pick<ToolResult, 'callId' | 'content'> & Partial<ToolOutcome>;

/** Options of `appendText`. */
export interface AppendTextOptions extends Partial<Pick<AppendTextRequest, 'notify'>> {
  /** Who said it; default: assistant. */
  readonly role?: 'assistant' | 'user';
}

/** Options of `submitToolResults`. */
export interface SubmitToolResultsOptions {
  /** The turn of the calls; default: the current one. */
  readonly turnId?: number;
}

const checkSubmitOptions = optionsCheck<SubmitToolResultsOptions>('submitToolResults', { turnId: checks.field });
const checkTextOptions = optionsCheck<AppendTextOptions>('appendText', { role: checks.field, notify: checks.field });
const checkInteraction = optionsCheck<Partial<Omit<AppendDialogRequest, 'agentId'>>>('appendDialog', {
  user: checks.field,
  assistant: checks.field,
});

/**
 * An agent on the server: one conversation with a graph.
 * @throws Fault from all methods: an error of the server, or CONNECTION_DROPPED.
 */
export class AgentHandle implements AsyncDisposable {
  /** The id of the agent in its session, from 1. */
  readonly id: number;
  /** Warnings of the server from compiling the graph. */
  readonly warnings: readonly string[];
  readonly #connection: Connection;
  readonly #turns: TurnAgent;
  readonly #previous = new PreviousResults();
  readonly #lifetime = new Lifetime();

  constructor(
    connection: Connection,
    { agentId: id, warnings }: CreateAgentResponse,
    { session, executor }: Pick<TurnContext, 'session'> & { readonly executor: ToolExecutor | undefined },
  ) {
    this.#connection = connection;
    this.id = id;
    this.warnings = warnings;
    const dialog = async () => JSON.parse(await this.exportDialog()) as { user: string; assistant: string }[];
    const context = { agent: this, session, dialog };
    const [previous, lifetime] = [this.#previous, this.#lifetime];
    this.#turns = { id, connection, open: new Set(), previous, lifetime, executor, context };
  }

  /**
   * Sends a message to the agent and returns its turn without waiting. One turn at a time: while another one runs, the
   * turn rejects with AGENT_BUSY. With `tools`, here or of `createAgent`, its calls are run.
   */
  send(text: string, options: SendOptions = {}): TurnHandle {
    return new TurnHandle(this.#turns, text, options);
  }

  /** Same as `send`, for a loop: `for await (const update of agent.turn('hi')) ...`. Leaving the loop cancels the turn. */
  turn(text: string, options: SendOptions = {}): TurnHandle {
    return this.send(text, options);
  }

  /** Cancels the running turn, if there is one, as its `cancel` does. */
  cancel(): void {
    for (const turn of this.#turns.open) turn.cancel();
  }

  /**
   * Changes live parameters of a node between turns. Fields that are absent stay as they are; null restores the default.
   * @throws Fault when a field is invalid or not live; nothing is changed then.
   */
  async changeParams(nodeName: string, params: object): Promise<void> {
    checks.string(nodeName, 'changeParams.nodeName');
    checks.params(params, 'changeParams.params');
    const paramsJson = documentText(params, 'changeParams.params');
    await this.#connection.request('changeParams', { agentId: this.id, nodeName, paramsJson });
  }

  /**
   * Gives a turn that waits for results (`await_results`) those of its calls. An executor does this by itself.
   * @throws Fault NO_RESULTS_AWAITED for a call that does not wait, a second result and one that is late, LIMIT_EXCEEDED
   * for more than 256 KiB; none of the results is taken then.
   */
  async submitToolResults(results: readonly SubmittedResult[], options: SubmitToolResultsOptions = {}): Promise<void> {
    checks.list(results, 'submitToolResults.results');
    checkSubmitOptions(options);
    const fields = { ...options, agentId: this.id, results: results.map(withOk) };
    await this.#connection.request('submitToolResults', fields);
  }

  /**
   * Adds to the dialog what was said elsewhere, between turns. Either part may be absent, but not both.
   * @throws Fault AGENT_BUSY while a turn runs.
   */
  async appendDialog(interaction: Partial<Omit<AppendDialogRequest, 'agentId'>>): Promise<void> {
    checkInteraction(interaction);
    await this.#connection.request('appendDialog', { ...interaction, agentId: this.id });
  }

  /**
   * Adds a line to the dialog, at any time: while a turn runs, between its message and its answer. With `notify` it is a text
   * of that turn, too, whose source is "client"; it is no part of the answer.
   * @returns the text that no turn has, because none runs, with `notify`; else "".
   */
  async appendText(text: string, options: AppendTextOptions = {}): Promise<string> {
    checkTextOptions(options);
    let sent = '';
    const onFrame = (frame: ServerFrame): void => {
      if (frame.body === 'answerText') sent += frame.answerText.text;
    };
    await this.#connection.request('appendText', { ...options, agentId: this.id, text }, { onFrame });
    return sent;
  }

  /**
   * Says who answers messages from now on: the graph (AUTO), or people (MANUAL): then a turn ends at once, and its message is
   * in the dialog. A turn that runs goes on.
   */
  async setAgentMode(mode: 'AUTO' | 'MANUAL'): Promise<void> {
    checks.string(mode, 'setAgentMode.mode');
    await this.#connection.request('setAgentMode', { agentId: this.id, mode });
  }

  /**
   * Sets variables that all later turns of the agent have; those of a message win. null removes one.
   * @throws Fault LIMIT_EXCEEDED for more than 64 KiB in all; nothing is changed then.
   */
  async setVariables(variables: object): Promise<void> {
    checks.params(variables, 'setVariables.variables');
    const variablesJson = documentText(variables, 'setVariables.variables');
    await this.#connection.request('setVariables', { agentId: this.id, variablesJson });
  }

  /** The dialog so far as JSON text, to save it and to pass it to `createAgent({ history })` later. */
  async exportDialog(): Promise<string> {
    const parts: string[] = [];
    await this.#connection.request(
      'exportDialog',
      { agentId: this.id },
      { onFrame: (frame) => frame.body === 'exportDialog' && parts.push(frame.exportDialog.historyJson) },
    );
    return parts.join('');
  }

  /** Clears the dialog, and the results for the next message; a running turn is cancelled first. */
  async clearDialog(): Promise<void> {
    const forget = (): void => this.#previous.clear();
    // Before: for a message that is sent next. After: what the turn has left that was cancelled.
    forget();
    await this.#connection.request('clearDialog', { agentId: this.id }, { onFrame: forget });
  }

  /** Destroys the agent and frees its KV caches; a running turn is cancelled first. @throws Fault AGENT_ALREADY_DESTROYED */
  async destroy(): Promise<void> {
    this.#lifetime.end(new DOMException('the agent was destroyed', 'AbortError'));
    await this.#connection.request('destroyAgent', { agentId: this.id });
  }

  /**
   * Like `destroy`, but never rejects: the agent may be destroyed and the connection closed already. Does not wait for
   * the client to reconnect.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    const destroyed = this.destroy().catch(() => {});
    await Promise.race([destroyed, this.#connection.interrupted]);
  }
}

// What is no object stays as it is: the request is refused with its place.
const withOk = (result: SubmittedResult): ToolResult =>
  (isPlainObject(result) && result.ok === undefined ? { ...result, ok: true } : result) as ToolResult;
