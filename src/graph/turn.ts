import type { Dialog } from '../dialog.ts';
import type { Completion } from '../engine/engine.ts';
import type { ToolCallIssue } from '../frames.gen.ts';
import type { Insight } from '../tools/validate/insight.ts';

/** A tool call as a turn records it. */
export interface Call {
  /** Nine characters of [A-Za-z0-9]. */
  readonly id: string;
  readonly name: string;
  /** Text of a flat JSON object whose values are all strings. */
  readonly flatArguments: string;
  /** Text of a JSON object, its values coerced to the declared types where that is lossless. */
  readonly typedArguments: string;
  /** Whether the node has a tool of that name. */
  readonly known: boolean;
  /** Whether mistakes in the JSON were repaired. */
  readonly repaired: boolean;
  /** Whether the tool has side effects in the world, so that a client may want to ask first. */
  readonly consequential: boolean;
  readonly issues: readonly ToolCallIssue[];
}

/** Statistics of one inference of a turn, for the turn summary. */
export interface InferenceRecord extends Pick<Completion, 'finishReason' | 'tokens' | 'timings'> {
  /** Number of interactions that did not fit into the prompt. */
  readonly dropped: number;
  /** Facts for debug_info, such as the format and why it was chosen. */
  readonly notes: object;
}

/** A running turn, as its nodes see it. */
export interface Turn {
  /** The message of the user. */
  readonly message: string;
  /** The conversation before this turn. */
  readonly dialog: Dialog;
  /** Template variables of the message. */
  readonly variables: Readonly<Record<string, string>>;
  /** Aborted when the turn is cancelled or takes too long; every wait of a node must end then. */
  readonly signal: AbortSignal;
  /** Tool calls that nodes of this turn have detected so far. */
  readonly calls: readonly Call[];
  /** The number of inferences that are recorded so far. */
  readonly inferences: number;
  /** Insights of this turn so far: why detected calls were not sent. */
  readonly insights: readonly Insight[];
  /** Text that this turn has sent or holds back so far. */
  readonly answer: string;
  /** Sends text of the answer: a delta while it is generated, or a whole text. */
  say(text: string, kind: 'delta' | 'whole'): void;
  /** Backpressure of the client: undefined while it keeps up, else resolves when more may be sent. */
  backpressure(): Promise<void> | undefined;
  /** Holds back an answer; it is sent at the end of the turn, unless it is replaced or released. */
  hold(text: string): void;
  /** Discards the held answer. */
  release(): void;
  /** Records a tool call, and sends it to the client if `notify` is set. */
  recordCall(call: Call, notify: boolean): void;
  /** Records why a call was not sent, and sends that to the client (NodeEvent tool_insight). */
  recordInsight(insight: Insight): void;
  /** Records the statistics of an inference. */
  recordInference(inference: InferenceRecord): void;
  /** Sends a NodeEvent, if diagnostics are on. */
  emitEvent(event: string, payload: object): void;
  /** Adds a sentence to the turn's warnings. */
  warn(warning: string): void;
}
