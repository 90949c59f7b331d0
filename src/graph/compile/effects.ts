import type { NodeContext } from './node.ts';

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
export interface GuardEffects {
  readonly watch: WatchedText;
  /** The exit that lets a text pass. */
  readonly exit: string;
  /** How many patterns it has; with 0 every text passes, and it guards nothing. */
  readonly patterns: number;
}

/**
 * What a node may do in a turn. Where one is absent, `turngraph audit` assumes the worst that is given there: a proof holds
 * whatever such a node does. The warnings about a graph assume that nothing is wrong.
 */
export interface NodeEffects {
  /** Whether it may run a model. Absent: it may. */
  readonly infers?: boolean;
  /** The exits with which it may send a text of a model to the client at once. Absent: all. */
  readonly sends?: readonly string[];
  /** Whether it may send a text that shows what calls or insights of the turn say, such as a template of a line. Absent: it may. */
  readonly showsCalls?: boolean;
  /** What becomes of the held answer: it is kept, discarded for a text that is no model's, or replaced by a text of a model. Absent: replaced. */
  readonly held?: 'kept' | 'discarded' | 'replaced';
  /** The tools whose calls it may record. Absent: they are not known. */
  readonly tools?: readonly CallableTool[];
  /** What it guards. Absent: nothing. */
  readonly guards?: GuardEffects;
  /** The exits that it takes only a limited number of times in a turn, whatever a model does. Absent: none. */
  readonly limitedExits?: readonly string[];
  /** The exits that it never takes with these parameters. Absent: none. */
  readonly unusedExits?: readonly string[];
  /** The exits on which the client gets neither a text nor a call of the node. Absent: none. */
  readonly silentExits?: readonly string[];
  /** Whether later nodes learn of what the node finds out by the turn, too: then its exits may all lead to one node. */
  readonly informsLaterNodes?: boolean;
  /** Whether the node can select tools for the nodes after it, and by which names; true: by any. Absent: no. */
  readonly selects?: boolean | readonly string[];
  /** Whether the node offers only tools that a node before it selected, and by which names; true: not known. Absent: no. */
  readonly needsSelection?: boolean | readonly string[];
  /** Reads what only the storage of the node tells, for the audit; it takes the place of what is given here. */
  refine?(context: EffectsContext): Promise<Omit<NodeEffects, 'refine'>>;
}

/** What the storage of a node can be read with, without a model. */
export type EffectsContext = Pick<NodeContext, 'nodeName' | 'limits' | 'strings' | 'warn'>;

/** The effects of a node that only chooses an exit: no model, no text, no calls. */
export const routingEffects = {
  infers: false,
  sends: [],
  showsCalls: false,
  held: 'kept',
  tools: [],
} as const satisfies NodeEffects;
