import { describe, expect, it } from 'vitest';
import { ProtocolChecker } from '../../scripts/stress/protocolChecker.mjs';
import { createRng } from '../../scripts/seededRandom.mjs';
import { median, quantile, trendOf, type Sample } from '../../scripts/stress/leakDetection.mjs';
import { finalResponse } from '../../src/client/responses.ts';
import type { AnswerText, ServerFrame, TurnComplete } from '../../src/frames.gen.ts';
import { clientFrame, serverFrame } from '../../src/wire/frame.ts';

/** Half an hour, a sample every five seconds. */
function run(value: (seconds: number, noise: () => number) => number, seed = 1): readonly Sample[] {
  const chance = createRng(seed);
  const noise = (): number => chance.between(-1, 1) + chance.between(-1, 1) + chance.between(-1, 1);
  return Array.from({ length: 360 }, (_, index) => ({ seconds: index * 5, value: value(index * 5, noise) }));
}

const sawtooth = (seconds: number): number => (seconds % 47) / 4;
const seeds = Array.from({ length: 40 }, (_, index) => index + 1);

describe('the trend of memory', () => {
  it.each<[string, (seconds: number, noise: () => number) => number]>([
    ['that never changes', () => 200],
    ['that wavers', (_, noise) => 200 + noise()],
    ['that grows only while the server warms up', (seconds, noise) => 200 + 50 * Math.min(1, seconds / 500) + noise()],
    ['that a garbage collector draws as a saw', (seconds, noise) => 200 + sawtooth(seconds) + noise()],
    ['that falls', (seconds, noise) => 200 - seconds / 100 + noise()],
    ['that grows by a megabyte an hour under noise of three', (seconds, noise) => 200 + seconds / 3600 + noise()],
  ])('of a server %s is flat', (_, value) => {
    expect(seeds.filter((seed) => trendOf(run(value, seed)).rising)).toEqual([]);
  });

  it('of a server whose noise drifts is flat in nearly all runs', () => {
    const drifting = (seed: number): readonly Sample[] => {
      let level = 0;
      return run((_, noise) => 200 + (level = 0.9 * level + noise() / 2) + noise(), seed);
    };
    expect(seeds.filter((seed) => trendOf(drifting(seed)).rising).length).toBeLessThanOrEqual(2);
  });

  it.each<[string, (seconds: number, noise: () => number) => number]>([
    ['a megabyte a minute', (seconds, noise) => 200 + seconds / 60 + noise()],
    ['that under a saw', (seconds, noise) => 200 + seconds / 60 + sawtooth(seconds) + noise()],
    ['it in steps', (seconds, noise) => 200 + 10 * Math.floor(seconds / 300) + noise()],
  ])('of a server that loses %s rises', (_, value) => {
    expect(seeds.filter((seed) => !trendOf(run(value, seed)).rising)).toEqual([]);
  });

  it('tells the slope with an interval that holds the true one', () => {
    const { perHour } = trendOf(run((seconds, noise) => 200 + seconds / 60 + noise()));
    expect(perHour?.slope).toBeCloseTo(60, -0.5);
    expect(perHour?.low).toBeLessThan(60);
    expect(perHour?.high).toBeGreaterThan(60);
  });

  it('is not told from a handful of samples', () => {
    expect(trendOf(run(() => 200).slice(0, 9))).toMatchObject({ enough: false, rising: false });
    expect(trendOf([])).toMatchObject({ enough: false, rising: false });
  });
});

describe('a quantile', () => {
  it('lies between its neighbours in proportion', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(quantile([10, 20, 30, 40, 50], 0.99)).toBeCloseTo(49.6);
    expect(quantile([7], 0.99)).toBe(7);
  });
});

describe('the checker of a session', () => {
  const ids = { agentId: 1, turnId: 1, nodeName: 'answer' };
  const text: AnswerText = { ...ids, text: 'Hello!', isDelta: true, isFinal: false };
  const last: AnswerText = { ...ids, text: '', isDelta: false, isFinal: true };
  const complete: TurnComplete = {
    ...ids,
    status: 'SUCCESS',
    error: null,
    path: [],
    stopReason: 'END',
    tokensPrompt: 1,
    tokensReused: 0,
    tokensGenerated: 1,
    interactionsDropped: 0,
    timeToFirstTokenMs: 1,
    durationMs: 1,
    warnings: [],
    debugInfo: '',
  };
  const greeting = serverFrame(0, 0, 'sessionReady', {
    protocolVersion: 1,
    sessionId: '',
    resumeToken: '',
    serverVersion: '',
  });
  const says = (seq: number, told: AnswerText): ServerFrame => serverFrame(1, seq, 'answerText', told);
  const ends = (seq: number, told: TurnComplete = complete): ServerFrame => serverFrame(1, seq, 'turnComplete', told);

  /** What is found wrong with the answers to one message. */
  function faultsOf(frames: readonly ServerFrame[]): readonly string[] {
    const checker = new ProtocolChecker(finalResponse);
    checker.frameReceived(greeting);
    checker.requestSent(clientFrame(1, 'sendMessage', { agentId: 1, text: 'Hello!' }));
    for (const frame of frames) checker.frameReceived(frame);
    checker.expectAllAnswered();
    return checker.violations;
  }

  it('finds nothing wrong with a turn as it should be', () => {
    expect(faultsOf([says(1, text), says(2, last), ends(3)])).toEqual([]);
  });

  it.each<[string, readonly ServerFrame[], RegExp]>([
    ['a gap', [says(1, text), says(3, last), ends(4)], /seq 3 where 2 was due/],
    ['two final answers', [says(1, last), ends(2), ends(3)], /has had its final answer/],
    ['no final answer', [says(1, text), says(2, last)], /has had no final answer/],
    ['no last text', [says(1, text), ends(2)], /turnComplete without a last text/],
    ['text after the last text', [says(1, last), says(2, text), ends(3)], /answerText after the last text/],
    ["another agent's text", [says(1, { ...text, agentId: 2 }), says(2, last), ends(3)], /agent 2 speaks in a turn of/],
    ["another turn's text", [says(1, text), says(2, { ...last, turnId: 7 }), ends(3)], /turn 7 within turn 1/],
    ['a failed turn', [says(1, last), ends(2, { ...complete, status: 'ERROR' })], /a turn failed/],
  ])('notices %s', (_, frames, sentence) => {
    expect(faultsOf(frames)).toEqual([expect.stringMatching(sentence)]);
  });
});
