import type { Fault, FinishedTurn, SendOptions, ToolCall, TurnEvent } from '../../../src/client/index.ts';

/** A visit of a node in a turn. Times are those of the page, in milliseconds (`performance.now`). */
export interface NodeVisit {
  readonly node: string;
  readonly startedAt: number;
  readonly endedAt: number | undefined;
  /** The exit that it took; undefined while it runs, and where the turn ended in it. */
  readonly exit: string | undefined;
  /** How long it ran by the server's clock; undefined like `exit`. */
  readonly durationMs: number | undefined;
  /** Its inferences, in order. */
  readonly inferences: readonly InferenceRecord[];
  /** When it waited for results of calls. */
  readonly waits: readonly ResultWait[];
}

/** An inference, as the event `inference` tells it. */
export interface InferenceRecord {
  /** The payload of the event: see PROTOCOL.md. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly at: number;
}

/** The time from a call that awaits its result to that result. */
export interface ResultWait {
  readonly callId: string;
  readonly from: number;
  readonly to: number | undefined;
}

/** The result that the user gave a call. */
export interface GivenResult {
  readonly ok: boolean;
  readonly content: string;
  readonly lifespan: 'TURN' | 'DIALOG';
}

/** A call that was detected in a turn, and the result that the user gave it. */
export interface CallRecord {
  readonly call: ToolCall;
  readonly at: number;
  readonly result: GivenResult | undefined;
}

/** What a turn shows, in the order in which it came. */
export type TurnPart =
  /** Text of a node. `whole`: it came at once, as canned lines, held answers and answers without streaming do. */
  | { readonly type: 'text'; readonly node: string; readonly text: string; readonly whole: boolean }
  /** A field of an answer, in addition to its text. */
  | { readonly type: 'field'; readonly node: string; readonly name: string; readonly value: string | number }
  | { readonly type: 'call'; readonly callId: string }
  | { readonly type: 'event'; readonly event: TurnEvent };

/** A turn as the page shows it, while it runs and afterwards. */
export interface TurnRecord {
  readonly number: number;
  readonly user: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly priority: NonNullable<SendOptions['priority']>;
  readonly startedAt: number;
  readonly firstTextAt: number | undefined;
  readonly endedAt: number | undefined;
  /** All text of its parts. */
  readonly text: string;
  readonly parts: readonly TurnPart[];
  readonly calls: readonly CallRecord[];
  readonly visits: readonly NodeVisit[];
  /** Whether the user has cancelled it. */
  readonly cancelled: boolean;
  /** Undefined while the turn runs, and when it failed. */
  readonly summary: FinishedTurn | undefined;
  readonly fault: Fault | undefined;
}
