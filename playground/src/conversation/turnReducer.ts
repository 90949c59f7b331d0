import type { Fault, TurnEvent, TurnUpdate } from '../../../src/client/index.ts';
import type { CallRecord, NodeVisit, TurnRecord } from './turnRecord.ts';

/** What happens to the last turn of an agent. */
export type TurnChange =
  | { readonly type: 'sent'; readonly text: string; readonly variables: Readonly<Record<string, string>> }
  | { readonly type: 'update'; readonly update: TurnUpdate }
  | { readonly type: 'result'; readonly callId: string; readonly result: NonNullable<CallRecord['result']> }
  | { readonly type: 'failed'; readonly fault: Fault };

/** Applies a change to the turns of an agent. @param now the time of the change, in milliseconds. */
export function turnReducer(turns: readonly TurnRecord[], change: TurnChange, now: number): readonly TurnRecord[] {
  if (change.type === 'sent') return [...turns, newTurn(turns.length + 1, change, now)];
  const last = turns.at(-1);
  if (!last) return turns;
  return [...turns.slice(0, -1), { ...last, ...changed(last, change, now) }];
}

const newTurn = (
  number: number,
  { text: user, variables }: Extract<TurnChange, { type: 'sent' }>,
  startedAt: number,
): TurnRecord => ({
  number,
  user,
  variables,
  startedAt,
  firstTextAt: undefined,
  endedAt: undefined,
  text: '',
  calls: [],
  visits: [],
  events: [],
  summary: undefined,
  fault: undefined,
});

function changed(turn: TurnRecord, change: Exclude<TurnChange, { type: 'sent' }>, now: number): Partial<TurnRecord> {
  if (change.type === 'failed') return { fault: change.fault, endedAt: now, visits: endVisit(turn.visits, now) };
  if (change.type === 'result') return { calls: turn.calls.map((call) => withResult(call, change)) };
  const { update } = change;
  switch (update.type) {
    case 'text':
      return { text: turn.text + update.text, firstTextAt: turn.firstTextAt ?? now };
    case 'call':
      return { calls: [...turn.calls, { call: update.call, result: undefined }] };
    case 'event':
      return withEvent(turn, update.event, now);
    case 'complete':
      return { summary: update.summary, endedAt: now, visits: endVisit(turn.visits, now) };
    default:
      return {};
  }
}

const withResult = (record: CallRecord, { callId, result }: Extract<TurnChange, { type: 'result' }>): CallRecord =>
  record.call.callId === callId ? { ...record, result } : record;

function withEvent(turn: TurnRecord, event: TurnEvent, now: number): Partial<TurnRecord> {
  const payload = event.payload as Readonly<Record<string, unknown>>;
  switch (event.eventType) {
    case 'node_started':
      return { visits: [...turn.visits, newVisit(event.nodeName, now)] };
    case 'node_finished':
      return { visits: endVisit(turn.visits, now, String(payload['exit'] ?? '')) };
    case 'inference':
      return {
        visits: changeLast(turn.visits, ({ inferences }) => ({ inferences: [...inferences, { payload, at: now }] })),
      };
    default:
      return { events: [...turn.events, event] };
  }
}

const newVisit = (node: string, startedAt: number): NodeVisit => ({
  node,
  startedAt,
  endedAt: undefined,
  exit: undefined,
  inferences: [],
});

const endVisit = (visits: readonly NodeVisit[], endedAt: number, exit?: string): readonly NodeVisit[] =>
  visits.at(-1)?.endedAt === undefined ? changeLast(visits, () => ({ endedAt, exit })) : visits;

function changeLast(
  visits: readonly NodeVisit[],
  change: (visit: NodeVisit) => Partial<NodeVisit>,
): readonly NodeVisit[] {
  const last = visits.at(-1);
  return last ? [...visits.slice(0, -1), { ...last, ...change(last) }] : visits;
}
