import type { ToolCall } from '../toolCall.ts';
import type { ToolOutcome } from './toolOutcome.ts';

/** What happened to a call that an executor runs. */
export type ToolEvent = {
  readonly type: 'tool';
  readonly call: ToolCall;
} & (
  | {
      /** The tool runs, with these arguments. */
      readonly state: 'started';
      readonly arguments: unknown;
    }
  | {
      readonly state: 'completed';
      readonly result: ToolOutcome;
    }
  | {
      /** The call failed, or its result came too late for the turn (a Fault with code 3012). */
      readonly state: 'failed';
      readonly result: ToolOutcome;
      readonly error: unknown;
    }
  | {
      /** `before`, `confirm` or `stopOnBlock` kept the call from being run; `result.content` says why. */
      readonly state: 'blocked';
      readonly result: ToolOutcome;
    }
);

/** How a call ended. */
export type ToolEnd =
  | { readonly state: 'completed' | 'blocked'; readonly result: ToolOutcome }
  | { readonly state: 'failed'; readonly result: ToolOutcome; readonly error: unknown };

/** A call that was run, with its result. */
export interface FinishedCall {
  readonly call: ToolCall;
  readonly state: ToolEnd['state'];
  readonly result: ToolOutcome;
}
