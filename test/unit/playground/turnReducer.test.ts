import { describe, expect, it } from 'vitest';
import { turnReducer } from '../../../playground/src/conversation/turnReducer.ts';
import { Fault } from '../../../src/protocol/fault.ts';
import { recordedTurns, replay, startMs, type TimedTurnChange } from './recordedTurns.ts';

const exits = (changes: readonly TimedTurnChange[]) =>
  replay(changes).visits.map(({ node, exit }) => `${node} ${exit ?? ''}`.trim());

describe('a turn on the page', () => {
  it.each([
    ['call', ['guard not_triggered', 'detect tool_called']],
    ['chat', ['guard not_triggered', 'detect no_tool_called', 'answer default']],
    ['canned', ['guard triggered', 'refuse default']],
    ['awaited', ['detect tool_called', 'answer default']],
    ['cancelled', ['answer']],
    ['held', ['answer default', 'judge not_triggered']],
  ] as const)('has the path of the recorded turn "%s"', (name, path) => {
    expect(exits(recordedTurns[name])).toEqual(path);
    const { summary, text, endedAt } = replay(recordedTurns[name]);
    expect(text).toBe(summary?.text);
    expect(endedAt).toBeDefined();
  });

  it('joins the deltas of a node to one part', () => {
    expect(replay(recordedTurns.chat).parts).toEqual([
      { type: 'text', node: 'answer', text: "I'm a lamp. I shine.", whole: false },
    ]);
  });

  it('tells text that came as a whole from deltas', () => {
    const texts = (name: 'canned' | 'held') =>
      replay(recordedTurns[name]).parts.flatMap((part) => (part.type === 'text' ? [[part.node, part.whole]] : []));
    expect(texts('canned')).toEqual([['refuse', true]]);
    expect(texts('held')).toEqual([['answer', true]]);
  });

  it('keeps texts of several nodes, calls and events apart and in order', () => {
    const text = (node: string, whole = false) => ({ type: 'text', text: node, node, whole }) as const;
    const event = { nodeName: 'b', eventType: 'route', mode: 'AUTO' as const, payload: { label: 'x' } };
    const calls = recordedTurns.call.flatMap(([, change]) => (change.type === 'call' ? [change] : []));
    const changes = [
      text('a'),
      text('a'),
      text('b'),
      { type: 'event', event },
      text('b'),
      { type: 'field', node: 'b', name: 'mood', value: 'calm' },
      ...calls,
      text('b', true),
    ] as const;
    const { parts } = replay(changes.map((change) => [1, change]));
    expect(parts.map((part) => (part.type === 'text' ? part.text : part.type))).toEqual([
      'aa',
      'b',
      'event',
      'b',
      'field',
      'call',
      'b',
    ]);
  });

  it('gives each inference to the visit that it is of', () => {
    const { visits } = replay(recordedTurns.chat);
    expect(visits.map(({ inferences }) => inferences.length)).toEqual([0, 1, 1]);
    expect(visits[1]?.inferences[0]?.payload).toMatchObject({ format: 'chatml', tokens: { generated: 7 } });
  });

  it('knows how long a node waited for a result, though its Ack comes after the next node has begun', () => {
    const { calls, visits } = replay(recordedTurns.awaited);
    expect(calls[0]).toMatchObject({ call: { toolName: 'get_weather' }, result: { ok: true, content: '18 degrees' } });
    expect(visits[0]?.waits).toEqual([expect.objectContaining({ from: startMs + 27.1, to: startMs + 332.8 })]);
  });

  it('waits as long as a call has no result', () => {
    const count = recordedTurns.awaited.findIndex(([, { type }]) => type === 'call') + 1;
    expect(replay(recordedTurns.awaited, count).visits.at(-1)?.waits).toMatchObject([{ to: undefined }]);
  });

  it('keeps what was said when it is cancelled', () => {
    const turn = replay([...recordedTurns.cancelled.slice(0, 3), [44, { type: 'cancelled' }]]);
    expect(turn).toMatchObject({ cancelled: true, text: 'A little', endedAt: undefined });
    expect(replay(recordedTurns.cancelled)).toMatchObject({ text: 'A little robot', summary: { status: 'CANCELLED' } });
  });

  it('keeps what was said when it fails, and ends the node that ran', () => {
    const fault = new Fault('INFERENCE_TIMEOUT', 'the turn took longer than 60 s');
    const turn = replay([...recordedTurns.chat.slice(0, 10), [99, { type: 'failed', fault }]]);
    expect(turn).toMatchObject({ fault, summary: undefined, endedAt: startMs + 99 });
    expect(turn.text).toBe("I'm a");
    expect(turn.visits.at(-1)).toMatchObject({ node: 'answer', exit: undefined, endedAt: startMs + 99 });
  });

  it('is the only one that changes, and the others stay the same objects', () => {
    const sent = { type: 'sent', text: 'again', variables: { mood: 'grim' }, priority: 'URGENT' } as const;
    const first = replay(recordedTurns.chat);
    const turns = turnReducer([first], sent, 2000);
    const after = turnReducer(turns, { type: 'text', text: 'x', node: 'answer', whole: false }, 2001);
    expect(after[0]).toBe(first);
    expect(after[1]).toMatchObject({ number: 2, user: 'again', variables: { mood: 'grim' }, text: 'x' });
  });

  it('is not there any more when the dialog was cleared: what comes late changes nothing', () => {
    expect(turnReducer([], { type: 'text', text: 'late', node: 'answer', whole: false }, 1)).toEqual([]);
  });
});
