import type { Fault, FinishedTurn, SendOptions, ToolCall, TurnEvent } from '../../../src/client/index.ts';
import type { CallRecord, GivenResult, NodeVisit, TurnPart, TurnRecord } from './turnRecord.ts';

/** What happens to the last turn of an agent. */
export type TurnChange =
  | {
      readonly type: 'sent';
      readonly text: string;
      readonly variables: Readonly<Record<string, string>>;
      readonly priority: NonNullable<SendOptions['priority']>;
    }
  | { readonly type: 'text'; readonly text: string; readonly node: string; readonly whole: boolean }
  | Extract<TurnPart, { type: 'field' }>
  | { readonly type: 'call'; readonly call: ToolCall }
  | { readonly type: 'event'; readonly event: TurnEvent }
  | { readonly type: 'result'; readonly callId: string; readonly result: GivenResult }
  | { readonly type: 'cancelled' }
  | { readonly type: 'complete'; readonly summary: FinishedTurn }
  | { readonly type: 'failed'; readonly fault: Fault };

type Sent = Extract<TurnChange, { type: 'sent' }>;

/** Applies a change to the turns of an agent. @param now the time of the change, in milliseconds. */
export function turnReducer(turns: readonly TurnRecord[], change: TurnChange, now: number): readonly TurnRecord[] {
  if (change.type === 'sent') return [...turns, newTurn((turns.at(-1)?.number ?? 0) + 1, change, now)];
  const last = turns.at(-1);
  if (!last) return turns;
  return [...turns.slice(0, -1), { ...last, ...changed(last, change, now) }];
}

const newTurn = (number: number, { text, variables, priority }: Sent, startedAt: number): TurnRecord => ({
  number,
  user: text,
  variables,
  priority,
  startedAt,
  firstTextAt: undefined,
  endedAt: undefined,
  text: '',
  parts: [],
  calls: [],
  visits: [],
  cancelled: false,
  summary: undefined,
  fault: undefined,
});

function changed(turn: TurnRecord, change: Exclude<TurnChange, Sent>, now: number): Partial<TurnRecord> {
  switch (change.type) {
    case 'text':
      return {
        text: turn.text + change.text,
        parts: withText(turn.parts, change),
        firstTextAt: turn.firstTextAt ?? now,
      };
    case 'field':
      return { parts: [...turn.parts, change] };
    case 'call':
      return withCall(turn, change.call, now);
    case 'event':
      return withEvent(turn, change.event, now);
    case 'result':
      return withResult(turn, change, now);
    case 'cancelled':
      return { cancelled: true };
    case 'complete':
      return { summary: change.summary, ...ended(turn, now) };
    case 'failed':
      return { fault: change.fault, ...ended(turn, now) };
  }
}

/** Deltas of one node are one part, however many they are. */
function withText(
  parts: readonly TurnPart[],
  { node, text, whole }: Extract<TurnChange, { type: 'text' }>,
): readonly TurnPart[] {
  const last = parts.at(-1);
  if (last?.type !== 'text' || last.node !== node || whole || last.whole)
    return [...parts, { type: 'text', node, text, whole }];
  return [...parts.slice(0, -1), { ...last, text: last.text + text }];
}

function withCall({ calls, parts, visits }: TurnRecord, call: ToolCall, at: number): Partial<TurnRecord> {
  const { callId, awaitsResult } = call;
  return {
    calls: [...calls, { call, at, result: undefined }],
    parts: [...parts, { type: 'call', callId }],
    ...(awaitsResult && {
      visits: changeLast(visits, ({ waits }) => ({ waits: [...waits, { callId, from: at, to: undefined }] })),
    }),
  };
}

function withResult(
  { calls, visits }: TurnRecord,
  { callId, result }: Extract<TurnChange, { type: 'result' }>,
  now: number,
): Partial<TurnRecord> {
  const answered = (record: CallRecord): CallRecord => (record.call.callId === callId ? { ...record, result } : record);
  return {
    calls: calls.map(answered),
    visits: changeLast(visits, ({ waits }) => ({
      waits: waits.map((wait) => (wait.callId === callId ? { ...wait, to: now } : wait)),
    })),
  };
}

function withEvent(turn: TurnRecord, event: TurnEvent, now: number): Partial<TurnRecord> {
  const payload = event.payload as Readonly<Record<string, unknown>>;
  switch (event.eventType) {
    case 'node_started':
      return { visits: [...turn.visits, newVisit(event.nodeName, now)] };
    case 'node_finished':
      return { visits: endVisit(turn.visits, now, payload) };
    case 'inference':
      return {
        visits: changeLast(turn.visits, ({ inferences }) => ({ inferences: [...inferences, { payload, at: now }] })),
      };
    default:
      return { parts: [...turn.parts, { type: 'event', event }] };
  }
}

const ended = ({ visits }: TurnRecord, now: number): Pick<TurnRecord, 'endedAt' | 'visits'> => ({
  endedAt: now,
  visits: endVisit(visits, now),
});

const newVisit = (node: string, startedAt: number): NodeVisit => ({
  node,
  startedAt,
  endedAt: undefined,
  exit: undefined,
  durationMs: undefined,
  inferences: [],
  waits: [],
});

/** Ends the visit that runs, and with it all that it waited for. @param finished the payload of `node_finished`. */
function endVisit(
  visits: readonly NodeVisit[],
  endedAt: number,
  { exit, duration_ms: durationMs }: Readonly<Record<string, unknown>> = {},
): readonly NodeVisit[] {
  if (visits.at(-1)?.endedAt !== undefined) return visits;
  return changeLast(visits, ({ waits }) => ({
    endedAt,
    exit: typeof exit === 'string' ? exit : undefined,
    durationMs: typeof durationMs === 'number' ? durationMs : undefined,
    waits: waits.map((wait) => ({ ...wait, to: wait.to ?? endedAt })),
  }));
}

function changeLast(
  visits: readonly NodeVisit[],
  change: (visit: NodeVisit) => Partial<NodeVisit>,
): readonly NodeVisit[] {
  const last = visits.at(-1);
  return last ? [...visits.slice(0, -1), { ...last, ...change(last) }] : visits;
}
