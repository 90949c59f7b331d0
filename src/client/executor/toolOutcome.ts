import type { ToolCall } from '../toolCall.ts';
import { describeError } from '../../protocol/fault.ts';
import type { ToolControl, ToolResult } from '../../protocol/frames.gen.ts';
import { documentText } from '../../protocol/codec/json.ts';
import { wellFormed } from '../../protocol/codec/wellFormed.ts';
import { checks, optionsCheck } from '../options.ts';

/** What came of a tool call, as the model reads it. */
export interface ToolOutcome extends Omit<ToolResult, 'callId' | 'metadataJson' | 'control'> {
  /** JSON for programs, which no model reads. */
  readonly metadataJson?: string;
  /** What it changes in the agent and in the turn. */
  readonly control?: Partial<ToolControl>;
}

/** How the value of a tool counts. */
export interface ToolResultOptions {
  /** Whether the call succeeded; default: true. */
  readonly ok?: boolean;
  /** TURN: the result is for this turn. DIALOG: later turns see it, too. Default: the lifespan of the tool. */
  readonly lifespan?: ToolOutcome['lifespan'];
  /** A JSON value for programs, at most 8 KiB: in the summary of the turn and in saved dialogs, in no prompt. */
  readonly metadata?: unknown;
  /** The mode of the agent from now on: in MANUAL people answer, see `setAgentMode`. */
  readonly control?: { readonly mode: 'AUTO' | 'MANUAL' };
}

/** The value of a tool, with how it counts: what `toolResult` returns. */
export class ToolReturn {
  readonly value: unknown;
  readonly options: ToolResultOptions;

  constructor(value: unknown, options: ToolResultOptions) {
    this.value = value;
    this.options = options;
  }
}

/** The value of a tool with a lifespan of its own, or as a failure: `return toolResult('no such lamp', { ok: false })`. */
export function toolResult(value: unknown, options: ToolResultOptions = {}): ToolReturn {
  checkReturnOptions(options);
  return new ToolReturn(value, options);
}

const checkReturnOptions = optionsCheck<ToolResultOptions>('toolResult', {
  ok: checks.switch,
  lifespan: checks.lifespan,
  metadata: checks.field,
  control: checks.params,
});

// The limit of a server for one result: a larger one is refused, and the turn would wait for it in vain.
const maxContentBytes = 256 * 1024;

/** A failed call, with why. It never stays in the dialog: there it would stand in for later calls. */
export const failureOf = (content: string): ToolOutcome => ({
  ok: false,
  content: wellFormed(content),
  lifespan: 'TURN',
});

/** The message of any thrown value as the outcome of a call. */
export const failureBy = (thrown: unknown): ToolOutcome => withinLimit('error', failureOf(describeThrown(thrown)));

/** The message of any thrown value. */
export function describeThrown(thrown: unknown): string {
  try {
    return describeError(thrown) || 'the tool failed';
  } catch {
    // String() throws for an object without a prototype.
    return 'the tool failed';
  }
}

/** What a tool has returned as its outcome. A value that JSON cannot express, or that is too large, is a failure. */
export function outcomeOf(value: unknown, tool: string, lifespan: ToolOutcome['lifespan']): ToolOutcome {
  const { value: inner, options } = value instanceof ToolReturn ? value : toolResult(value);
  const { ok = true, metadata, control } = options;
  try {
    const content = contentOf(inner, tool);
    // Only what the program has said itself keeps a failure in the dialog.
    return withinLimit('result', {
      ok,
      content,
      lifespan: options.lifespan ?? (ok ? lifespan : 'TURN'),
      ...(metadata !== undefined && { metadataJson: documentText(metadata, `${tool}.metadata`) }),
      ...(control && { control }),
    });
  } catch (thrown) {
    return failureBy(thrown);
  }
}

/** An outcome with what `after` returns in place of its parts. @throws Fault MALFORMED_MESSAGE for anything else. */
export function withChanges(outcome: ToolOutcome, changes: unknown): ToolOutcome {
  checkChanges(changes as Partial<ToolOutcome>);
  const changed = { ...outcome, ...definedIn(changes as Partial<ToolOutcome>) };
  return withinLimit('result', { ...changed, content: wellFormed(changed.content) });
}

const checkChanges = optionsCheck<Partial<ToolOutcome>>('executor.after', {
  ok: checks.switch,
  content: checks.string,
  lifespan: checks.lifespan,
  metadataJson: checks.string,
  control: checks.params,
});

const definedIn = <Value extends object>(value: Value): Partial<Value> =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as Partial<Value>;

/** The outcome itself, or a failure that names the size when it does not fit. */
function withinLimit(what: string, outcome: ToolOutcome): ToolOutcome {
  const bytes = new TextEncoder().encode(outcome.content).length;
  if (bytes <= maxContentBytes) return outcome;
  return failureOf(`the ${what} has ${bytes} bytes, and ${maxContentBytes} are allowed`);
}

function contentOf(value: unknown, tool: string): string {
  if (value === undefined) return 'ok';
  // A text that was cut inside a character has half of it; no frame can hold that.
  return typeof value === 'string' ? wellFormed(value) : documentText(value, `${tool}.result`);
}

/** What happened to a call that an executor runs: its tool runs, with these arguments, or the call has ended. */
export type ToolEvent = { readonly type: 'tool'; readonly call: ToolCall } & (
  { readonly state: 'started'; readonly arguments: unknown } | ToolEnd
);

/** How a call ended. */
export type ToolEnd =
  | { readonly state: 'completed'; readonly result: ToolOutcome }
  /** The call failed, or its result came too late for the turn (a Fault with code 3012). */
  | { readonly state: 'failed'; readonly result: ToolOutcome; readonly error: unknown }
  /** `before`, `confirm` or `stopOnBlock` kept the call from being run; `result.content` says why. */
  | { readonly state: 'blocked'; readonly result: ToolOutcome };

/** A call that was run, with its result. Times are in milliseconds since 1970. */
export interface ToolExecution {
  readonly call: ToolCall;
  readonly state: ToolEnd['state'];
  readonly result: ToolOutcome;
  /** When the tool began to run; of a call whose tool did not run: `completedAt`. */
  readonly startedAt: number;
  /** When the result was there. */
  readonly completedAt: number;
}

/** What a turn rejects with when a call fails and the executor has `throwOnFailure`. Its `cause` is what went wrong. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly call: ToolCall;

  constructor(call: ToolCall, cause: unknown) {
    super(`the call of ${call.toolName} failed: ${describeThrown(cause)}`, { cause });
    this.call = call;
  }

  get toolName(): string {
    return this.call.toolName;
  }
}

/** What `before` decides about a call; nothing: it runs as it is. */
export type BeforeDecision =
  | { readonly arguments: Readonly<Record<string, unknown>> }
  /** The result of the call, as a tool returns it; the tool does not run. */
  | { readonly result: unknown }
  /** Why the call is not run; the model reads it. */
  | { readonly block: string };

/** What hooks get besides the call. */
export interface HookContext {
  /** Aborted when the answer is of no use any more, like that of `run`: a dialog can be closed then. */
  readonly signal: AbortSignal;
}

/** Options of an executor. */
export interface ExecutorOptions {
  /** How many calls of one turn run at the same time; default: 4. */
  readonly concurrency?: number;
  /**
   * Called with each call of a registered tool, in the order of the calls and one at a time, before its arguments are
   * checked. May change the arguments, give the result in place of the tool, or block the call. When it throws, the call
   * is blocked.
   */
  readonly before?: (call: ToolCall, context: HookContext) => Awaitable<BeforeDecision | undefined | void>;
  /**
   * Asked before a consequential call runs, with the arguments that it would run with: one call at a time. Anything but
   * true blocks the call, and so does an exception. Without it consequential calls run like others.
   */
  readonly confirm?: (call: ToolCall, context: HookContext) => Awaitable<boolean>;
  /** Called with each result, also that of a blocked call, before it is sent. What it returns replaces those parts. */
  readonly after?: (call: ToolCall, result: ToolOutcome) => Awaitable<Partial<ToolOutcome> | undefined | void>;
  /** Whether the calls of a reply that come after a blocked one are not run; default: false. */
  readonly stopOnBlock?: boolean;
  /** Whether the turn is cancelled and rejects with a ToolError when a call fails; default: false. */
  readonly throwOnFailure?: boolean;
  /** Called with each event of a call. */
  readonly onEvent?: (event: ToolEvent) => void;
}

/** Checks the options of an executor. @throws Fault MALFORMED_MESSAGE with the path. */
export const checkExecutorOptions = optionsCheck<ExecutorOptions>('executor', {
  concurrency: checks.count,
  before: checks.callback,
  confirm: checks.callback,
  after: checks.callback,
  stopOnBlock: checks.switch,
  throwOnFailure: checks.switch,
  onEvent: checks.callback,
});

/** A value, or a promise of it. */
export type Awaitable<T> = T | PromiseLike<T>;

/** Whether a value is a promise, of whatever library. */
export const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function';

/** Continues with a value: at once, or when its promise has resolved. So a call without a promise runs in one go. */
export function andThen<T, Result>(value: Awaitable<T>, next: (value: T) => Awaitable<Result>): Awaitable<Result> {
  return isPromiseLike(value) ? adopt(value as PromiseLike<T>).then(next) : next(value as T);
}

/** The value of some work, or what `recover` makes of its exception, or of the rejection of its promise. */
export function orElse<T>(work: () => Awaitable<T>, recover: (thrown: unknown) => T): Awaitable<T> {
  try {
    const value = work();
    return isPromiseLike(value) ? adopt(value as PromiseLike<T>).then(undefined, recover) : value;
  } catch (thrown) {
    return recover(thrown);
  }
}

// The `then` of other libraries need not return a promise.
const adopt = <T>(promise: PromiseLike<T>): Promise<T> => Promise.resolve(promise);
