import type { Fault, FinishedTurn, ToolCall, TurnEvent } from '../../../src/client/index.ts';

/** A visit of a node in a turn. Times are those of the page, in milliseconds (`performance.now`). */
export interface NodeVisit {
  readonly node: string;
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  /** The exit that it took; undefined while it runs. */
  readonly exit: string | undefined;
  /** Its inferences, in order. */
  readonly inferences: readonly InferenceRecord[];
}

/** An inference, as the event `inference` tells it. */
export interface InferenceRecord {
  /** The payload of the event: see PROTOCOL.md. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly at: number;
}

/** A call that was detected in a turn, and the result that the user gave it. */
export interface CallRecord {
  readonly call: ToolCall;
  readonly result: { readonly ok: boolean; readonly content: string } | undefined;
}

/** A turn as the page shows it, while it runs and afterwards. */
export interface TurnRecord {
  readonly number: number;
  readonly user: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly startedAt: number;
  readonly firstTextAt: number | undefined;
  readonly endedAt: number | undefined;
  readonly text: string;
  readonly calls: readonly CallRecord[];
  readonly visits: readonly NodeVisit[];
  /** All other events, in order. */
  readonly events: readonly TurnEvent[];
  /** Undefined while the turn runs, and when it failed. */
  readonly summary: FinishedTurn | undefined;
  readonly fault: Fault | undefined;
}
