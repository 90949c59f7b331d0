import { checks, optionsCheck } from '../options.ts';
import type { ToolCall } from '../toolCall.ts';
import type { Awaitable } from './awaitable.ts';
import type { ToolEvent, ToolOutcome } from './toolOutcome.ts';

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
