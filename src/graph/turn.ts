import type { Dialog } from '../dialog.ts';
import type { Completion } from '../engine/engine.ts';
import type { ToolCallIssue } from '../frames.gen.ts';
import type { Insight } from '../tools/validate/insight.ts';

/** A tool call as a turn records it. */
export interface Call {
  /** Nine characters of [A-Za-z0-9]. */
  readonly id: string;
  readonly name: string;
  /** A flat JSON object whose values are all strings. */
  readonly flatArguments: string;
  /** A JSON object with the values coerced to the declared types where nothing is lost. */
  readonly typedArguments: string;
  readonly known: boolean;
  readonly repaired: boolean;
  /** Whether the tool changes the world: a client may want to ask first. */
  readonly consequential: boolean;
  readonly issues: readonly ToolCallIssue[];
}

/** What one inference of a turn cost and said: for the account of the turn. */
export interface InferenceRecord extends Pick<Completion, 'finishReason' | 'tokens' | 'timings'> {
  /** Interactions that the budget kept out of the prompt. */
  readonly dropped: number;
  /** Facts for debug_info, such as the format and why it was chosen. */
  readonly notes: object;
}

/** All that a node sees of a turn while it runs. */
export interface Turn {
  /** What the user said. */
  readonly message: string;
  /** The conversation before this turn. */
  readonly dialog: Dialog;
  readonly variables: Readonly<Record<string, string>>;
  /** Aborted when the turn is cancelled; every wait of a node ends with it. */
  readonly signal: AbortSignal;
  /** The tool calls that nodes of this turn have found so far. */
  readonly calls: readonly Call[];
  /** What stood in the way of calls that nodes of this turn have found so far. */
  readonly insights: readonly Insight[];
  /** What this turn has said or held so far. */
  readonly answer: string;
  /** Sends text of the answer: a piece as it is generated, or a whole one. */
  sendText(text: string, kind: 'delta' | 'whole'): void;
  /** Undefined while the client keeps up with what is said, else what to wait for before saying more. */
  backpressure(): Promise<void> | undefined;
  /** Keeps an answer back; it is sent at the end of the turn unless something takes its place. */
  hold(text: string): void;
  /** Takes a held answer's place: nothing is held any more. */
  release(): void;
  /** Records a call, and notifies the client of it if asked to. */
  recordCall(call: Call, notify: boolean): void;
  /** Records why a call was not sent, and tells the client (NodeEvent tool_insight). */
  recordInsight(insight: Insight): void;
  /** Accounts for an inference. */
  recordInference(inference: InferenceRecord): void;
  /** Sends a NodeEvent, when diagnostics are on. */
  emitEvent(event: string, payload: object): void;
  /** Adds a sentence to the turn's warnings. */
  warn(warning: string): void;
}
