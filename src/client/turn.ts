import type { AnswerText, PathStep, ServerFrame, TurnComplete } from '../frames.gen.ts';
import { toFault } from './responses.ts';
import { parseToolCall, EventJoiner, type ToolCall, type TurnEvent } from './toolCall.ts';
import type { Connection } from './connection.ts';
import { ReplayStream } from './replayStream.ts';

/** What goes along with a message, and what hears of its turn as it goes. */
export interface SendOptions {
  /** Values that templates of this turn can name. */
  readonly variables?: Readonly<Record<string, string>>;
  /** Cancels the turn. */
  readonly signal?: AbortSignal;
  readonly onText?: (piece: string, frame: AnswerText) => void;
  readonly onCall?: (call: ToolCall) => void;
  readonly onEvent?: (event: TurnEvent) => void;
}

/** The account of a turn that came to its end or was cancelled; numbers as in TurnComplete. */
export interface FinishedTurn {
  /** Everything that the turn said. */
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly events: readonly TurnEvent[];
  readonly status: 'SUCCESS' | 'CANCELLED';
  /** The nodes that the turn visited, in order, each with the exit it took. */
  readonly path: readonly PathStep[];
  readonly stopReason: TurnComplete['stopReason'];
  readonly tokens: { readonly prompt: number; readonly reused: number; readonly generated: number };
  readonly interactionsDropped: number;
  readonly timeToFirstTokenMs: number;
  readonly durationMs: number;
  readonly warnings: readonly string[];
  /** Of an agent with diagnostics; else undefined. */
  readonly debugInfo: unknown;
}

/** One message and its answer, as it comes; awaiting it is awaiting `done`. Whatever is not awaited may be ignored. */
export class TurnHandle implements PromiseLike<FinishedTurn> {
  /**
   * The account of the turn. Rejects with a Fault when the turn fails (its `detail` then holds the debug info) or the
   * connection drops; a cancelled turn is no failure.
   */
  readonly done: Promise<FinishedTurn>;
  readonly #connection: Connection;
  readonly #agentId: number;
  readonly #options: SendOptions;
  // All turns of the agent that are not over, this one too.
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
    // Who only iterates hears of a failure there.
    this.done.catch(() => {});
  }

  /** The pieces of the answer as they are generated, from the first one, for each that iterates. */
  get text(): AsyncIterable<string> {
    return this.#text;
  }

  /** The calls as they are detected, from the first one, for each that iterates. */
  get calls(): AsyncIterable<ToolCall> {
    return this.#calls;
  }

  /** As `done.then`, so that `await agent.send(...)` gives the account. */
  then<Done = FinishedTurn, Failed = never>(
    onDone?: ((turn: FinishedTurn) => Done | PromiseLike<Done>) | null,
    onFailed?: ((reason: unknown) => Failed | PromiseLike<Failed>) | null,
  ): Promise<Done | Failed> {
    return this.done.then(onDone, onFailed);
  }

  /** Ends the turn early: `done` then gives what there is, with status CANCELLED. */
  cancel(): void {
    this.#cancelling = this.#open.has(this);
    this.#sendCancel();
  }

  // Without a number it is the current turn that is cancelled, and while another one is open that may be the current one.
  #sendCancel(): void {
    if (!this.#cancelling || (this.#turnId === 0 && this.#open.size > 1)) return;
    this.#cancelling = false;
    // When this fails, so does the turn, and tells why.
    this.#connection.request('cancelTurn', { agentId: this.#agentId, turnId: this.#turnId }).catch(() => {});
  }

  async #run(text: string): Promise<FinishedTurn> {
    const { signal, variables = {} } = this.#options;
    const cancel = (): void => this.cancel();
    try {
      signal?.throwIfAborted();
      signal?.addEventListener('abort', cancel);
      const fields = { agentId: this.#agentId, text, variables };
      const complete = await this.#connection.request('sendMessage', fields, {
        onFrame: (frame) => this.#receive(frame),
      });
      const finished = this.#finish(complete);
      this.#text.end();
      this.#calls.end();
      return finished;
    } catch (thrown) {
      this.#text.fail(thrown);
      this.#calls.fail(thrown);
      throw thrown;
    } finally {
      this.#end();
      signal?.removeEventListener('abort', cancel);
    }
  }

  #end(): void {
    this.#open.delete(this);
    this.#cancelling = false;
    for (const turn of this.#open) turn.#sendCancel();
  }

  #number(turnId: number): void {
    this.#turnId = turnId;
    this.#sendCancel();
  }

  #receive(frame: ServerFrame): void {
    try {
      if (frame.body === 'answerText') this.#dispatch(frame.answerText);
      else if (frame.body === 'toolCallNotification') {
        this.#number(frame.toolCallNotification.turnId);
        const call = parseToolCall(frame.toolCallNotification);
        this.#calls.push(call);
        this.#options.onCall?.(call);
      } else if (frame.body === 'nodeEvent') {
        this.#number(frame.nodeEvent.turnId);
        const event = this.#joiner.add(frame.nodeEvent);
        if (!event) return;
        this.#events.push(event);
        this.#options.onEvent?.(event);
      }
    } catch (thrown) {
      // A listener threw: nobody will hear the rest.
      this.cancel();
      throw thrown;
    }
  }

  #dispatch(frame: AnswerText): void {
    this.#number(frame.turnId);
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
