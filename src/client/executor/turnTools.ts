import type { ToolCall } from '../toolCall.ts';
import { Fault } from '../../protocol/fault.ts';
import type { Lifetime } from '../lifetime.ts';
import type { ExecutorOptions, ToolEnd, ToolEvent, ToolExecution, ToolOutcome } from './toolOutcome.ts';
import { failureBy, ToolError } from './toolOutcome.ts';
import type { PreviousResults } from './previousResults.ts';
import { runCall } from './runCall.ts';
import type { RegisteredTool, TurnContext } from './defineTool.ts';

/** The turn whose calls are run. */
export interface ToolTurn {
  readonly context: TurnContext;
  /** Where results are kept that the turn does not take. */
  readonly previous: PreviousResults;
  /** When one of them ends, no result is of use any more. */
  readonly lifetimes: readonly Lifetime[];
  /** Receives each event of a call; must not throw. */
  emit(event: ToolEvent): void;
  /** Cancels the turn, which then rejects with this error. Returns false after its end. */
  fail(error: unknown): boolean;
  /**
   * Sends a result to the server.
   * @param onAck called before the next frame is handled when the server has taken the result.
   * @throws Fault of the server, or of the connection.
   */
  submit(turnId: number, result: ToolOutcome & { readonly callId: string }, onAck: () => void): Promise<void>;
}

export interface ExecutorParts {
  readonly options: ExecutorOptions;
  /** The tool that a call is run with; undefined: it is not registered. */
  readonly find: (call: ToolCall) => RegisteredTool | undefined;
}

interface TrackedCall {
  readonly call: ToolCall;
  readonly reply: ModelReply;
  readonly signal: AbortSignal;
  /** Gives the result to the next message; undefined: the turn waits for it. */
  readonly keep: ((outcome: ToolOutcome) => void) | undefined;
  /** The result of a tool that goes on although the turn waits for it no more. */
  later?: Promise<ToolOutcome>;
  /** When the tool began to run, in milliseconds since 1970. */
  startedAt?: number;
}

const defaultConcurrency = 4;

/** Runs the calls of one turn, and sends or keeps their results. */
export class TurnCalls {
  readonly #parts: ExecutorParts;
  readonly #turn: ToolTurn;
  readonly #enqueue: (call: QueuedCall) => void;
  readonly #replies = new ReplyTracker();
  /** Of calls whose results the turn does not wait for: they may outlast it. */
  readonly #detached = new AbortController();
  readonly #calls: Promise<ToolExecution>[] = [];
  #running = 0;
  #unwatch: readonly (() => void)[] = [];

  constructor(parts: ExecutorParts, turn: ToolTurn) {
    this.#parts = parts;
    this.#turn = turn;
    this.#enqueue = callQueue(parts.options.concurrency ?? defaultConcurrency);
  }

  /** Runs a call, as soon as the concurrency allows. */
  add(call: ToolCall): void {
    if (this.#running++ === 0) {
      this.#unwatch = this.#turn.lifetimes.map((lifetime) => lifetime.onEnd((reason) => this.abort(reason)));
    }
    const reply = this.#replies.replyOf(call);
    const tracked: TrackedCall = {
      call,
      reply,
      signal: (call.awaitsResult ? reply.wait : this.#detached).signal,
      keep: call.awaitsResult ? undefined : this.#turn.previous.reserve(call),
    };
    this.#calls.push(new Promise((resolve) => this.#start(tracked, resolve)));
  }

  /** All calls with their results, in order, when each has ended. */
  settled(): Promise<readonly ToolExecution[]> {
    return Promise.all(this.#calls);
  }

  /** Ends all waits for tools and hooks; their calls fail with the reason. */
  abort(reason: unknown): void {
    this.#replies.end(reason);
    this.#detached.abort(reason);
  }

  /** The turn has ended. Tools go on whose results it did not wait for: these go with the next message. */
  end(): void {
    this.#replies.end(new DOMException('the turn has ended', 'AbortError'));
  }

  #start(tracked: TrackedCall, onFinish: (call: Promise<ToolExecution>) => void): void {
    const { call, reply, signal } = tracked;
    const { options, find } = this.#parts;
    this.#enqueue((release) =>
      runCall({
        call,
        tool: find(call),
        context: this.#turn.context,
        hooks: options,
        signal,
        stopped: reply.blockedTool === undefined ? undefined : `the call of ${reply.blockedTool} before it was blocked`,
        onStarted: (args) => {
          tracked.startedAt = Date.now();
          this.#emit({ type: 'tool', state: 'started', call, arguments: args });
        },
        onBlocked: () => {
          if (options.stopOnBlock) reply.blockedTool ??= call.toolName;
        },
        release,
        onGivenUp: (later) => (tracked.later = later),
        onEnd: (end) => onFinish(this.#finish(tracked, end)),
      }),
    );
  }

  async #finish(tracked: TrackedCall, end: ToolEnd): Promise<ToolExecution> {
    const { call, signal, keep, later } = tracked;
    const completedAt = Date.now();
    this.#tell(call, end, signal);
    let final = end;
    const store = keep ?? (signal.aborted ? this.#turn.previous.reserve(call) : undefined);
    // The result of a tool is kept, also when the turn did not wait for it.
    if (store && later) void later.then((outcome) => this.#leave(store, outcome));
    else if (store) this.#leave(store, end.result);
    else final = await this.#deliver(tracked, end);
    if (--this.#running === 0) for (const unwatch of this.#unwatch) unwatch();
    const { startedAt = completedAt } = tracked;
    return { call, state: final.state, result: final.result, startedAt, completedAt };
  }

  async #deliver(tracked: TrackedCall, end: ToolEnd): Promise<ToolEnd> {
    const { call, signal } = tracked;
    const refusal = await this.#submit(tracked, end.result);
    if (refusal === undefined) return end;
    const replacement = isAboutResult(refusal) ? failureBy(refusal) : undefined;
    const failed: ToolEnd = { state: 'failed', result: replacement ?? end.result, error: refusal };
    this.#tell(call, failed, signal);
    const isDelivered = replacement && (await this.#submit(tracked, replacement)) === undefined;
    // Late (3012), or the turn has failed meanwhile.
    if (!isDelivered) this.#leave(this.#turn.previous.reserve(call), failed.result);
    return failed;
  }

  /** Keeps a result for the next message. What it changes in the agent is changed now: no turn takes it. */
  #leave(store: (outcome: ToolOutcome) => void, outcome: ToolOutcome): void {
    store(outcome);
    const { mode } = outcome.control ?? {};
    if (mode === 'AUTO' || mode === 'MANUAL') void this.#turn.context.agent.setAgentMode(mode).catch(() => undefined);
  }

  // Returns what the server refuses the result with; undefined: it has taken it.
  async #submit({ call: { turnId, callId }, reply }: TrackedCall, result: ToolOutcome): Promise<unknown> {
    try {
      // The server has sent all calls of the reply before it takes a result.
      await this.#turn.submit(turnId, { callId, ...result }, () => (reply.isComplete = true));
      return undefined;
    } catch (thrown) {
      return thrown;
    }
  }

  #tell(call: ToolCall, end: ToolEnd, { aborted }: AbortSignal): void {
    this.#emit({ type: 'tool', call, ...end });
    const { throwOnFailure } = this.#parts.options;
    if (throwOnFailure && end.state === 'failed' && !aborted) this.#turn.fail(new ToolError(call, end.error));
  }

  #emit(event: ToolEvent): void {
    this.#turn.emit(event);
    try {
      this.#parts.options.onEvent?.(event);
    } catch (thrown) {
      // After the turn there is no promise left to reject.
      if (!this.#turn.fail(thrown)) console.error('onEvent of an executor threw', thrown);
    }
  }
}

// Errors of the result itself: the failure that says so is accepted in its place.
const isAboutResult = (thrown: unknown): boolean =>
  thrown instanceof Fault && ['LIMIT_EXCEEDED', 'FRAME_TOO_LARGE', 'MALFORMED_MESSAGE'].includes(thrown.name);

/** Work on one call. It calls `release` when the next call may be decided. */
type QueuedCall = (release: () => void) => Promise<void>;

/**
 * Runs calls in their order, at most so many at the same time. They are decided one after the other: a user is asked one
 * question at a time, and a blocked call can stop those after it.
 * @returns adds a call, which starts before this returns if none is in its way.
 */
function callQueue(concurrency: number): (call: QueuedCall) => void {
  const waiting: QueuedCall[] = [];
  let running = 0;
  let isDeciding = false;
  const startNext = (): void => {
    if (isDeciding || running >= concurrency) return;
    const call = waiting.shift();
    if (!call) return;
    running++;
    isDeciding = true;
    let isHeld = true;
    const release = (): void => {
      if (!isHeld) return;
      isHeld = false;
      isDeciding = false;
      startNext();
    };
    void call(release).finally(() => {
      running--;
      release();
      startNext();
    });
  };
  return (call) => {
    waiting.push(call);
    startNext();
  };
}

interface ModelReply {
  readonly nodeName: string;
  /** The tool whose call was blocked: the calls after it are not run (`stopOnBlock`). */
  blockedTool?: string;
  /** All of its calls are here. */
  isComplete?: boolean;
  /** Aborted when the turn waits for no result of its calls any more. */
  readonly wait: AbortController;
}

/**
 * Finds out which calls are of the same reply. The server sends all calls of a reply before it takes a result, so calls
 * that come after an accepted result are of another reply.
 */
class ReplyTracker {
  #current: ModelReply | undefined;
  #ended: { readonly reason: unknown } | undefined;

  /** The reply of a call that has just come. */
  replyOf({ nodeName }: ToolCall): ModelReply {
    const current = this.#current;
    if (current && !current.isComplete && current.nodeName === nodeName) return current;
    // The model answers again only when the turn waits for its last calls no more.
    current?.wait.abort(new DOMException('the turn went on without the result', 'AbortError'));
    const wait = new AbortController();
    if (this.#ended) wait.abort(this.#ended.reason);
    this.#current = { nodeName, wait };
    return this.#current;
  }

  /** Ends the wait for results of this reply, and of those that still come. */
  end(reason: unknown): void {
    this.#ended ??= { reason };
    this.#current?.wait.abort(reason);
  }
}
