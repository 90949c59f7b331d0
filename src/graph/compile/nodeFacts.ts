/** A tool whose calls a node may record in a turn. */
export interface CallableTool {
  /** undefined: any name that the node does not declare. */
  readonly name: string | undefined;
  /** Whether the client is notified of the calls. */
  readonly isNotified: boolean;
  /** Whether the turn waits for their results. */
  readonly awaitsResult: boolean;
  readonly isConsequential: boolean;
  /** Whether the tool is offered only where a node before selects it. */
  readonly needsSelection: boolean;
  /** Whether it can be called only when the node is visited again in the turn, after a result. */
  readonly onlyAfterResult: boolean;
}

/** What a Guardrail watches. */
export type WatchedText = 'message' | 'answer';

/** How a node keeps texts from a model or from the client. */
export interface GuardFacts {
  readonly watch: WatchedText;
  /** The exit that lets a text pass. */
  readonly exit: string;
  /** How many patterns it has; with 0 every text passes, and it guards nothing. */
  readonly patterns: number;
}

/**
 * What a node may do in a turn, for `turngraph audit`. Where a fact is absent, the audit assumes the worst that is given
 * there: a proof holds whatever such a node does.
 */
export interface NodeFacts {
  /** Whether it may run a model. Absent: it may. */
  readonly infers?: boolean;
  /** The exits with which it may send a text of a model to the client at once. Absent: all. */
  readonly sends?: readonly string[];
  /** Whether it may send a text that shows what calls or insights of the turn say, such as a template of a line. Absent: it may. */
  readonly showsCalls?: boolean;
  /** What becomes of the held answer: it is kept, discarded, or replaced by a text of a model. Absent: replaced. */
  readonly held?: 'kept' | 'discarded' | 'replaced';
  /** The tools whose calls it may record. Absent: they are not known. */
  readonly tools?: readonly CallableTool[];
  /** What it guards. Absent: nothing. */
  readonly guards?: GuardFacts;
  /** The exits that it takes only a limited number of times in a turn, whatever a model does. Absent: none. */
  readonly limitedExits?: readonly string[];
  /** The exits that it never takes, in addition to those of `output`. Absent: none. */
  readonly unusedExits?: readonly string[];
}

/** The facts of a node that only chooses an exit: no model, no text, no calls. */
export const routingFacts = {
  infers: false,
  sends: [],
  showsCalls: false,
  held: 'kept',
  tools: [],
} as const satisfies NodeFacts;
