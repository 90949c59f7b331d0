import { describe, expect, it } from 'vitest';
import { timelineOf, type TimelineRow } from '../../../playground/src/conversation/timeline.ts';
import type { TurnRecord } from '../../../playground/src/conversation/turnRecord.ts';
import { cancelledWait, recordedTurns, replay, startMs } from './recordedTurns.ts';

const kinds = ({ segments }: TimelineRow) => segments.map(({ kind }) => kind);
const rowOf = (turn: TurnRecord, now: number, index = 0): TimelineRow => {
  const row = timelineOf(turn, now).rows[index];
  if (!row) throw new Error(`there is no row ${index}`);
  return row;
};
const names = ['call', 'chat', 'canned', 'awaited', 'cancelled', 'held'] as const;

describe('the timeline of a turn', () => {
  it.each(names)('fills the time of each visit of the turn "%s" without gap and overlap', (name) => {
    const { rows, totalMs, isServerTotal } = timelineOf(replay(recordedTurns[name]), 9999);
    expect(isServerTotal).toBe(true);
    let before = 0;
    for (const { from, to, segments } of rows) {
      expect(from).toBe(before);
      let end = from;
      for (const segment of segments) {
        expect(segment.from).toBe(end);
        expect(segment.to).toBeGreaterThan(segment.from);
        end = segment.to;
      }
      expect(end).toBeCloseTo(to, 6);
      before = to;
    }
    expect(before).toBeLessThanOrEqual(totalMs);
  });

  it('takes the durations of the server, not those of the page', () => {
    expect(timelineOf(replay(recordedTurns.call), 9999).totalMs).toBe(70.2);
    const row = rowOf(replay(recordedTurns.call), 9999, 1);
    expect(row).toMatchObject({ node: 'detect', exit: 'tool_called' });
    expect(row.to - row.from).toBeCloseTo(68.9, 6);
  });

  it('tells queue, prefill and decode apart, with tokens and rates', () => {
    const row = rowOf(replay(recordedTurns.call), 9999, 1);
    expect(kinds(row)).toEqual(['other', 'queued', 'prefill', 'decode', 'other']);
    expect(row.durations.queued).toBeCloseTo(1.5, 6);
    expect(row.durations.prefill).toBeCloseTo(22.3 - 1.5, 6);
    expect(row.durations.decode).toBeCloseTo(46.6 - 22.3, 6);
    expect(row.tokens).toEqual({ prompt: 63, reused: 0, fresh: 63, generated: 17 });
    expect(row.promptTokensPerSecond).toBeCloseTo((63 * 1000) / 20.8, 3);
    expect(row.generatedTokensPerSecond).toBeCloseTo((16 * 1000) / 24.3, 3);
    expect(row.models).toEqual(['turngraph-demo']);
  });

  it('shows the time that a node waited for results', () => {
    const row = rowOf(replay(recordedTurns.awaited), 9999);
    expect(kinds(row)).toEqual(['other', 'queued', 'prefill', 'decode', 'other', 'results']);
    expect(row.durations.results).toBeGreaterThan(300);
  });

  it("gives the node in which a turn was cancelled the rest of the server's time", () => {
    const { rows, totalMs } = timelineOf(replay(recordedTurns.cancelled), 9999);
    expect(rows).toMatchObject([{ node: 'answer', exit: undefined, running: false, to: totalMs }]);
    const waiting = timelineOf(replay(cancelledWait), 9999);
    expect(waiting).toMatchObject({ totalMs: 170, rows: [{ node: 'detect', exit: undefined, from: 0, to: 170 }] });
    expect(waiting.rows[0]?.segments.at(-1)).toMatchObject({ kind: 'results', to: 170 });
  });

  it("goes on by the page's clock while the turn runs", () => {
    const running = replay(recordedTurns.awaited, 3);
    const timeline = timelineOf(running, startMs + 200);
    expect(timeline).toMatchObject({ totalMs: 200, running: true, isServerTotal: false });
    expect(timeline.rows).toMatchObject([{ node: 'detect', running: true, waits: true, from: 0, to: 200 }]);
    expect(kinds(rowOf(running, startMs + 200)).at(-1)).toBe('results');
  });

  it.each(names)('has the first token of the turn "%s" when the turn has it, or before', (name) => {
    const turn = replay(recordedTurns[name]);
    const first = timelineOf(turn, 9999).rows.find(({ firstTokenMs }) => firstTokenMs !== undefined);
    const ms = (first?.from ?? 0) + (first?.firstTokenMs ?? 0);
    expect(ms).toBeLessThanOrEqual(turn.summary?.timeToFirstTokenMs ?? 0);
  });

  it('draws scored answers as one segment', () => {
    const payload = {
      scores: [{ answer: 'a', score: -0.1 }],
      tokens: { prompt: 40, reused: 10, generated: 0 },
      timings: { queued_ms: 2, first_token_ms: 0, total_ms: 12 },
    };
    const turn = replay([
      [
        0,
        { type: 'event', event: { nodeName: 'route', eventType: 'node_started', mode: 'AUTO' as const, payload: {} } },
      ],
      [13, { type: 'event', event: { nodeName: 'route', eventType: 'inference', mode: 'AUTO' as const, payload } }],
      [
        14,
        {
          type: 'event',
          event: {
            nodeName: 'route',
            eventType: 'node_finished',
            mode: 'AUTO' as const,
            payload: { exit: 'a', duration_ms: 14 },
          },
        },
      ],
    ]);
    const row = rowOf(turn, startMs + 14);
    expect(kinds(row)).toEqual(['other', 'queued', 'score', 'other']);
    expect(row).toMatchObject({ promptTokensPerSecond: 3000, generatedTokensPerSecond: undefined });
  });

  it('places several inferences of a visit one after the other, even when a resumed connection brings them at once', () => {
    const inference = (totalMs: number) => ({
      nodeName: 'a',
      eventType: 'inference',
      mode: 'AUTO' as const,
      payload: { timings: { queued_ms: 0, first_token_ms: 1, total_ms: totalMs }, tokens: {} },
    });
    const turn = replay([
      [0, { type: 'event', event: { nodeName: 'a', eventType: 'node_started', mode: 'AUTO' as const, payload: {} } }],
      [500, { type: 'event', event: inference(30) }],
      [500, { type: 'event', event: inference(40) }],
      [
        500,
        {
          type: 'event',
          event: {
            nodeName: 'a',
            eventType: 'node_finished',
            mode: 'AUTO' as const,
            payload: { exit: '', duration_ms: 80 },
          },
        },
      ],
    ]);
    const row = rowOf(turn, startMs + 500);
    expect(row.to).toBe(80);
    expect(row.durations).toMatchObject({ prefill: 2, decode: 68, other: 10 });
  });
});
