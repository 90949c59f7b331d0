import type {
  AnswerField,
  AnswerText,
  SendMessageRequest,
  ServerFrame,
  ToolResult,
  TurnComplete,
} from '../protocol/frames.gen.ts';
import { toExecutor, type ToolExecutor, type ToolFunctions } from './executor/executor.ts';
import { checks, optionsCheck } from './options.ts';
import { EventJoiner, parseToolCall, readJson, type ToolCall, type TurnEvent } from './toolCall.ts';
import type { Connection } from './connection.ts';
import type { PreviousResults } from './executor/previousResults.ts';
import type { ToolExecution } from './executor/toolOutcome.ts';
import type { TurnContext } from './executor/defineTool.ts';
import type { TurnCalls } from './executor/turnTools.ts';
import type { Lifetime } from './lifetime.ts';
import { ReplayStream, answerPiece, summarize, type FinishedTurn, type TurnUpdate } from './turnUpdate.ts';

/** Options of `agent.send` and `agent.turn`: what is sent with the message, what runs its calls, and callbacks. */
export interface SendOptions {
  /** Variables for the templates of this turn. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Which turn goes first where several compete: URGENT if the player waits, BACKGROUND if no one does. Default: NORMAL. */
  readonly priority?: SendMessageRequest['priority'];
  /** Runs the calls of the turn: `executor({ ... })`, or functions by tool name; default: the tools of `createAgent`. */
  readonly tools?: ToolExecutor | ToolFunctions;
  /** Cancels the turn. If it is aborted before `send`, nothing is sent and the turn rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Called with each piece of streamed text. */
  readonly onText?: (piece: string, frame: AnswerText) => void;
  /** Called with each field of an answer, such as a mood (`answer_fields`). */
  readonly onField?: (name: string, value: string | number, frame: AnswerField) => void;
  /** Called with each tool call as it is detected. */
  readonly onCall?: (call: ToolCall) => void;
  /** Called with each event of a node. */
  readonly onEvent?: (event: TurnEvent) => void;
}

const checkSendOptions = optionsCheck<SendOptions>('send', {
  variables: checks.field,
  priority: checks.field,
  tools: checks.field,
  signal: checks.signal,
  onText: checks.callback,
  onField: checks.callback,
  onCall: checks.callback,
  onEvent: checks.callback,
});

/** The agent of a turn, and what its turns share. */
export interface TurnAgent {
  readonly id: number;
  readonly connection: Connection;
  /** Turns that have not ended. */
  readonly open: Set<TurnHandle>;
  /** Results for the next message. */
  readonly previous: PreviousResults;
  /** Ends when the agent is destroyed. */
  readonly lifetime: Lifetime;
  /** Runs the calls of turns that are not given another one. */
  readonly executor: ToolExecutor | undefined;
  /** What its tools get. */
  readonly context: Omit<TurnContext, 'variables'>;
}

/**
 * A turn: one message and its streamed answer. Await it for the summary, iterate it, its `text` or its `calls`, or use the
 * callbacks of `send`, in any combination; none of them is required.
 */
export class TurnHandle implements PromiseLike<FinishedTurn>, AsyncIterable<TurnUpdate> {
  /**
   * The turn summary. Rejects with a Fault when the turn fails (`detail` then has the debug info) or the connection
   * drops, with a ToolError when a call fails and the executor has `throwOnFailure`. A cancelled turn resolves, with the
   * status CANCELLED.
   */
  readonly done: Promise<FinishedTurn>;
  readonly #agent: TurnAgent;
  readonly #options: SendOptions;
  readonly #updates = new ReplayStream<TurnUpdate>();
  readonly #joiner = new EventJoiner();
  #tools: TurnCalls | undefined;
  #turnId = 0;
  #cancelling = false;
  /** Why the program's own code has ended the turn. */
  #failure: { readonly error: unknown } | undefined;

  constructor(agent: TurnAgent, text: string, options: SendOptions) {
    this.#agent = agent;
    this.#options = options;
    agent.open.add(this);
    this.done = this.#run(text);
    // A caller that only iterates gets the error there; without this it would also be an unhandled rejection.
    this.done.catch(() => {});
  }

  /** The pieces of text as they are generated. Each iteration starts at the first piece. */
  get text(): AsyncIterable<string> {
    return this.#updates.map(answerPiece);
  }

  /** The tool calls as they are detected. Each iteration starts at the first call. */
  get calls(): AsyncIterable<ToolCall> {
    return this.#updates.map((update) => (update.type === 'call' ? [update.call] : []));
  }

  /**
   * The calls that the executor has run, in their order, when the turn and all its tools have ended. That can be later
   * than `done` where the turn does not wait for results. Never rejects.
   */
  get toolsDone(): Promise<readonly ToolExecution[]> {
    const settled = async (): Promise<readonly ToolExecution[]> => this.#tools?.settled() ?? [];
    return this.done.then(settled, settled);
  }

  /**
   * All that happens in the turn, in order; each iteration starts at the beginning. Leaving the loop cancels the turn, and
   * an error of the turn throws in it.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<TurnUpdate, void, undefined> {
    try {
      yield* this.#updates;
    } finally {
      this.cancel();
    }
  }

  /** Same as `done.then`, so that `await agent.send(...)` gives the summary. */
  then<Done = FinishedTurn, Failed = never>(
    onDone?: ((turn: FinishedTurn) => Done | PromiseLike<Done>) | null,
    onFailed?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Done | Failed> {
    return this.done.then(onDone, onFailed);
  }

  /** Same as `done.catch`. */
  catch<Failed = never>(
    onFailed?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<FinishedTurn | Failed> {
    return this.done.catch(onFailed);
  }

  /** Same as `done.finally`. */
  finally(onEnd?: (() => void) | null): Promise<FinishedTurn> {
    return this.done.finally(onEnd);
  }

  /** Cancels the turn and its tools: `done` resolves with the text so far and the status CANCELLED. */
  cancel(): void {
    if (!this.#isOpen) return;
    this.#cancelling = true;
    this.#sendCancel();
    this.#tools?.abort(cancelled());
  }

  get #isOpen(): boolean {
    return this.#agent.open.has(this);
  }

  // Turn id 0 cancels the current turn of the agent, which may be another one while several are open: then wait for the id.
  #sendCancel(): void {
    const { id: agentId, open, connection } = this.#agent;
    if (!this.#cancelling || (this.#turnId === 0 && open.size > 1)) return;
    this.#cancelling = false;
    // An error of the cancel is ignored: the turn then fails with the same one.
    connection.request('cancelTurn', { agentId, turnId: this.#turnId }).catch(() => {});
  }

  async #run(text: string): Promise<FinishedTurn> {
    try {
      checkSendOptions(this.#options);
      checks.string(text, 'sendMessage.text');
      this.#tools = this.#begin(this.#agent);
      const complete = await this.#request(text);
      if (this.#failure) throw this.#failure.error;
      const summary = summarize(this.#updates.items, complete);
      this.#updates.push({ type: 'complete', summary });
      this.#updates.end();
      if (summary.status === 'SUCCESS') this.#tools?.end();
      else this.#tools?.abort(cancelled());
      return summary;
    } catch (thrown) {
      const error = this.#failure ? this.#failure.error : thrown;
      this.#updates.end({ failure: error });
      this.#tools?.abort(error);
      throw error;
    } finally {
      this.#end();
    }
  }

  #begin({ connection, previous, lifetime, executor, context }: TurnAgent): TurnCalls | undefined {
    const { tools = executor, variables = {} } = this.#options;
    if (!tools) return undefined;
    return toExecutor(tools).begin({
      context: { ...context, variables },
      previous,
      lifetimes: [lifetime, connection.lifetime],
      emit: (event) => this.#updates.push(event),
      fail: (error) => this.#fail(error),
      submit: async (turnId, result, onAck) => {
        // What is absent has its default.
        const fields = { agentId: this.#agent.id, turnId, results: [result as ToolResult] };
        await connection.request('submitToolResults', fields, { onFrame: onAck });
      },
    });
  }

  async #request(text: string): Promise<TurnComplete> {
    const { id: agentId, connection } = this.#agent;
    const { signal, priority } = this.#options;
    const cancel = (): void => this.cancel();
    signal?.throwIfAborted();
    signal?.addEventListener('abort', cancel);
    const { variables, restore } = this.#agent.previous.addTo(this.#options.variables);
    try {
      const fields = { agentId, text, variables, priority };
      const onFrame = (frame: ServerFrame): void => this.#receive(frame);
      return await connection.request('sendMessage', fields, { onFrame, onGiveUp: cancel });
    } catch (thrown) {
      // The server has refused the message: no turn has begun.
      if (this.#turnId === 0) restore?.();
      throw thrown;
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  #end(): void {
    this.#agent.open.delete(this);
    this.#cancelling = false;
    for (const turn of this.#agent.open) turn.#sendCancel();
  }

  // Ends the turn with an error of the program's own code. Returns whether it has not ended yet.
  #fail(error: unknown): boolean {
    if (!this.#isOpen) return false;
    this.#failure ??= { error };
    this.#tools?.abort(error);
    this.cancel();
    return true;
  }

  #setTurnId(turnId: number): void {
    this.#turnId = turnId;
    this.#sendCancel();
  }

  #receive(frame: ServerFrame): void {
    if (frame.body === 'answerText') this.#receiveText(frame.answerText);
    else if (frame.body === 'answerField') {
      const { turnId, name, node: nodeName, valueJson } = frame.answerField;
      this.#setTurnId(turnId);
      const value = readJson(valueJson, 'valueJson') as string | number;
      this.#updates.push({ type: 'field', name, value, nodeName });
      this.#options.onField?.(name, value, frame.answerField);
    } else if (frame.body === 'toolCallNotification') {
      this.#setTurnId(frame.toolCallNotification.turnId);
      const call = parseToolCall(frame.toolCallNotification);
      this.#updates.push({ type: 'call', call });
      this.#options.onCall?.(call);
      this.#tools?.add(call);
    } else if (frame.body === 'nodeEvent') {
      this.#setTurnId(frame.nodeEvent.turnId);
      const event = this.#joiner.add(frame.nodeEvent);
      if (!event) return;
      this.#updates.push({ type: 'event', event });
      this.#options.onEvent?.(event);
    }
  }

  #receiveText(frame: AnswerText): void {
    this.#setTurnId(frame.turnId);
    if (frame.text === '') return;
    const { text, nodeName, source } = frame;
    this.#updates.push({ type: 'text', text, nodeName, ...(source === 'client' && { source }) });
    this.#options.onText?.(frame.text, frame);
  }
}

const cancelled = (): DOMException => new DOMException('the turn was cancelled', 'AbortError');
