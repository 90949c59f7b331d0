import type { ToolCall } from '../toolCall.ts';
import { describeThrown } from './toolOutcome.ts';

/** What a turn rejects with when a call fails and the executor has `throwOnFailure`. Its `cause` is what went wrong. */
export class ToolError extends Error {
  override readonly name = 'ToolError';
  readonly call: ToolCall;

  constructor(call: ToolCall, cause: unknown) {
    super(`the call of ${call.toolName} failed: ${describeThrown(cause)}`, { cause });
    this.call = call;
  }

  /** The name of the tool. */
  get toolName(): string {
    return this.call.toolName;
  }
}
