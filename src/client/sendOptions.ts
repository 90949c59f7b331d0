import type { AnswerText, SendMessageRequest } from '../protocol/frames.gen.ts';
import type { ToolExecutor } from './executor/executor.ts';
import { checks, optionsCheck } from './options.ts';
import type { ToolCall, TurnEvent } from './toolCall.ts';

/** Options of `agent.send` and `agent.turn`: what is sent with the message, what runs its calls, and callbacks. */
export interface SendOptions {
  /** Variables for the templates of this turn. */
  readonly variables?: Readonly<Record<string, string>>;
  /**
   * Which turn goes first where several compete: URGENT if the player waits, BACKGROUND if no one does.
   * Default: NORMAL.
   */
  readonly priority?: SendMessageRequest['priority'];
  /** Runs the calls of the turn: `executor({ ... })`. */
  readonly tools?: ToolExecutor;
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

/** Checks the options of a message. @throws Fault MALFORMED_MESSAGE with the path. */
export const checkSendOptions = optionsCheck<SendOptions>('send', {
  variables: checks.field,
  priority: checks.field,
  tools: checks.executor,
  signal: checks.signal,
  onText: checks.callback,
  onCall: checks.callback,
  onEvent: checks.callback,
});
