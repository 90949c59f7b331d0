import type { AnswerText, PathStep, ServerFrame, TurnComplete } from '../frames.gen.ts';
import { toFault } from './responses.ts';
import { parseToolCall, EventJoiner, type ToolCall, type TurnEvent } from './toolCall.ts';
import type { Connection } from './connection.ts';
import { checks, optionsCheck } from './options.ts';
import { ReplayStream } from './replayStream.ts';

/** Options of `agent.send`: what is sent with the message, and callbacks for its turn. */
export interface SendOptions {
  /** Variables for the templates of this turn. */
  readonly variables?: Readonly<Record<string, string>>;
  /**
   * Cancels the turn. If it is aborted before `send`, nothing is sent and the turn rejects with the signal's reason.
   */
  readonly signal?: AbortSignal;
  /** Called with each piece of streamed text. */
  readonly onText?: (piece: string, frame: AnswerText) => void;
  /** Called with each tool call as it is detected. */
  readonly onCall?: (call: ToolCall) => void;
  /** Called with each event of a node. */
  readonly onEvent?: (event: TurnEvent) => void;
}

const checkSendOptions = optionsCheck<SendOptions>('send', {
  variables: checks.field,
  signal: checks.signal,
  onText: checks.callback,
  onCall: checks.callback,
  onEvent: checks.callback,
});

/** Turn summary of a finished or cancelled turn. */
export interface FinishedTurn {
  /** The whole text of the turn. */
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly events: readonly TurnEvent[];
  readonly status: 'SUCCESS' | 'CANCELLED';
  /** The visited nodes in order, each with the exit it took. */
  readonly path: readonly PathStep[];
  /** Why the last inference of the turn ended; NONE without one. */
  readonly stopReason: TurnComplete['stopReason'];
  /** Token counts of all inferences: prompt tokens, those of them reused from the KV cache, generated tokens. */
  readonly tokens: { readonly prompt: number; readonly reused: number; readonly generated: number };
  /** Interactions of the dialog that did not fit in the context window of a prompt. */
  readonly interactionsDropped: number;
  /** Milliseconds from the message to the first token of any node; 0 without inference. */
  readonly timeToFirstTokenMs: number;
  /** Milliseconds from the message to the end of the turn. */
  readonly durationMs: number;
  readonly warnings: readonly string[];
  /** Parsed JSON about each inference, of an agent with `enableDiagnostics`; else undefined. */
  readonly debugInfo: unknown;
}

/**
 * A turn: one message and its streamed answer. Await it for the summary, iterate `text` and `calls`, or use the
 * callbacks of `send`, in any combination; none of them is required.
 */
export class TurnHandle implements PromiseLike<FinishedTurn> {
  /**
   * The turn summary. Rejects with a Fault when the turn fails (`detail` then has the debug info) or the connection
   * drops. A cancelled turn resolves, with the status CANCELLED.
   */
  readonly done: Promise<FinishedTurn>;
  readonly #connection: Connection;
  readonly #agentId: number;
  readonly #options: SendOptions;
  // All turns of the agent that have not ended, this one included.
  readonly #open: Set<TurnHandle>;
  readonly #text = new ReplayStream<string>();
  readonly #calls = new ReplayStream<ToolCall>();
  readonly #events: TurnEvent[] = [];
  readonly #joiner = new EventJoiner();
  #turnId = 0;
  #cancelling = false;

  constructor(connection: Connection, agentId: number, text: string, options: SendOptions, open: Set<TurnHandle>) {
    this.#connection = connection;
    this.#agentId = agentId;
    this.#options = options;
    this.#open = open.add(this);
    this.done = this.#run(text);
    // A caller that only iterates gets the error there; without this it would also be an unhandled rejection.
    this.done.catch(() => {});
  }

  /** The pieces of text as they are generated. Each iteration starts at the first piece. */
  get text(): AsyncIterable<string> {
    return this.#text;
  }

  /** The tool calls as they are detected. Each iteration starts at the first call. */
  get calls(): AsyncIterable<ToolCall> {
    return this.#calls;
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

  /** Cancels the turn: `done` resolves with the text so far and the status CANCELLED. */
  cancel(): void {
    this.#cancelling = this.#open.has(this);
    this.#sendCancel();
  }

  // Turn id 0 cancels the current turn of the agent, which may be another one while several are open: then wait for the
  // id.
  #sendCancel(): void {
    if (!this.#cancelling || (this.#turnId === 0 && this.#open.size > 1)) return;
    this.#cancelling = false;
    // An error of the cancel is ignored: the turn then fails with the same one.
    this.#connection.request('cancelTurn', { agentId: this.#agentId, turnId: this.#turnId }).catch(() => {});
  }

  async #run(text: string): Promise<FinishedTurn> {
    try {
      checkSendOptions(this.#options);
      checks.string(text, 'sendMessage.text');
      const finished = this.#finish(await this.#request(text));
      this.#text.end();
      this.#calls.end();
      return finished;
    } catch (thrown) {
      this.#text.fail(thrown);
      this.#calls.fail(thrown);
      throw thrown;
    } finally {
      this.#end();
    }
  }

  async #request(text: string): Promise<TurnComplete> {
    const { signal, variables } = this.#options;
    const cancel = (): void => this.cancel();
    signal?.throwIfAborted();
    signal?.addEventListener('abort', cancel);
    try {
      const fields = { agentId: this.#agentId, text, ...(variables !== undefined && { variables }) };
      const onFrame = (frame: ServerFrame): void => this.#receive(frame);
      return await this.#connection.request('sendMessage', fields, { onFrame });
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  #end(): void {
    this.#open.delete(this);
    this.#cancelling = false;
    for (const turn of this.#open) turn.#sendCancel();
  }

  #setTurnId(turnId: number): void {
    this.#turnId = turnId;
    this.#sendCancel();
  }

  #receive(frame: ServerFrame): void {
    try {
      if (frame.body === 'answerText') this.#receiveText(frame.answerText);
      else if (frame.body === 'toolCallNotification') {
        this.#setTurnId(frame.toolCallNotification.turnId);
        const call = parseToolCall(frame.toolCallNotification);
        this.#calls.push(call);
        this.#options.onCall?.(call);
      } else if (frame.body === 'nodeEvent') {
        this.#setTurnId(frame.nodeEvent.turnId);
        const event = this.#joiner.add(frame.nodeEvent);
        if (!event) return;
        this.#events.push(event);
        this.#options.onEvent?.(event);
      }
    } catch (thrown) {
      // A callback has thrown, so the turn rejects: cancel the rest of it.
      this.cancel();
      throw thrown;
    }
  }

  #receiveText(frame: AnswerText): void {
    this.#setTurnId(frame.turnId);
    if (frame.text === '') return;
    this.#text.push(frame.text);
    this.#options.onText?.(frame.text, frame);
  }

  #finish(complete: TurnComplete): FinishedTurn {
    const { status, error, debugInfo } = complete;
    if (status === 'ERROR') {
      throw toFault({
        name: error?.name ?? 'INTERNAL',
        message: error?.message ?? 'the turn failed',
        detail: debugInfo,
      });
    }
    return {
      text: this.#text.items.join(''),
      calls: this.#calls.items,
      events: this.#events,
      status,
      path: complete.path,
      stopReason: complete.stopReason,
      tokens: { prompt: complete.tokensPrompt, reused: complete.tokensReused, generated: complete.tokensGenerated },
      interactionsDropped: complete.interactionsDropped,
      timeToFirstTokenMs: complete.timeToFirstTokenMs,
      durationMs: complete.durationMs,
      warnings: complete.warnings,
      debugInfo: debugInfo === '' ? undefined : (JSON.parse(debugInfo) as unknown),
    };
  }
}
