import { describe, expect, it } from 'vitest';
import { CanarySearch } from '../../scripts/stress/canarySearch.mjs';
import { SessionRecorder } from '../../scripts/chaos/sessionRecorder.mjs';
import { createRng } from '../../scripts/seededRandom.mjs';
import { median, quantile, trendOf, type Sample } from '../../scripts/stress/leakDetection.mjs';
import type { AnswerText, ServerFrame, TurnComplete } from '../../src/protocol/frames.gen.ts';
import { clientCodecs, serverCodecs } from '../../src/protocol/codec/codec.ts';
import { clientFrame, serverFrame } from '../../src/protocol/codec/frame.ts';

/** Samples of half an hour, one every five seconds. */
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
    ['that fluctuates', (_, noise) => 200 + noise()],
    ['that grows only while the server warms up', (seconds, noise) => 200 + 50 * Math.min(1, seconds / 500) + noise()],
    ['that garbage collection makes a sawtooth', (seconds, noise) => 200 + sawtooth(seconds) + noise()],
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
    ['a megabyte a minute under a sawtooth', (seconds, noise) => 200 + seconds / 60 + sawtooth(seconds) + noise()],
    ['a megabyte a minute in steps', (seconds, noise) => 200 + 10 * Math.floor(seconds / 300) + noise()],
  ])('of a server that leaks %s rises', (_, value) => {
    expect(seeds.filter((seed) => !trendOf(run(value, seed)).rising)).toEqual([]);
  });

  it('has a slope with a confidence interval that contains the true one', () => {
    const { perHour } = trendOf(run((seconds, noise) => 200 + seconds / 60 + noise()));
    expect(perHour?.slope).toBeCloseTo(60, -0.5);
    expect(perHour?.low).toBeLessThan(60);
    expect(perHour?.high).toBeGreaterThan(60);
  });

  it('is not computed from fewer than ten samples', () => {
    expect(trendOf(run(() => 200).slice(0, 9))).toMatchObject({ enough: false, rising: false });
    expect(trendOf([])).toMatchObject({ enough: false, rising: false });
  });
});

describe('a quantile', () => {
  it('is interpolated', () => {
    expect(median([3, 1, 2])).toBe(2);
    expect(median([4, 1, 2, 3])).toBe(2.5);
    expect(quantile([10, 20, 30, 40, 50], 0.99)).toBeCloseTo(49.6);
    expect(quantile([7], 0.99)).toBe(7);
  });
});

describe('the protocol checker', () => {
  const ids = { agentId: 1, turnId: 1, nodeName: 'answer' };
  const text: AnswerText = { ...ids, text: 'Hello!', isDelta: true, isFinal: false, source: '' };
  const last: AnswerText = { ...ids, text: '', isDelta: false, isFinal: true, source: '' };
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
    interactionsSummarised: 0,
    timeToFirstTokenMs: 1,
    durationMs: 1,
    warnings: [],
    debugInfo: '',
    mode: 'AUTO',
    resultMetadata: [],
    modelChoices: [],
  };
  const greeting = serverFrame(0, 0, 'sessionReady', {
    protocolVersion: 1,
    sessionId: '',
    resumeToken: '',
    serverVersion: '',
  });
  const answerText = (seq: number, body: AnswerText): ServerFrame => serverFrame(1, seq, 'answerText', body);
  const turnComplete = (seq: number, body: TurnComplete = complete): ServerFrame =>
    serverFrame(1, seq, 'turnComplete', body);

  /** Violations in the answers to one message. */
  function findViolations(frames: readonly ServerFrame[]): readonly string[] {
    const recorder = new SessionRecorder();
    const { sent, received } = recorder.connection('turngraph.v1.json');
    const receive = (frame: ServerFrame) => received(serverCodecs['turngraph.v1.json'].encode(frame));
    receive(greeting);
    const message = clientFrame(1, 'sendMessage', { agentId: 1, text: 'Hello!' });
    sent(clientCodecs['turngraph.v1.json'].encode(message));
    frames.forEach(receive);
    recorder.expectAllAnswered();
    return recorder.faults;
  }

  it('accepts a valid turn', () => {
    expect(findViolations([answerText(1, text), answerText(2, last), turnComplete(3)])).toEqual([]);
  });

  it.each<[string, readonly ServerFrame[], RegExp]>([
    ['a gap', [answerText(1, text), answerText(3, last), turnComplete(4)], /expected seq 2 .* came 3/],
    ['two final answers', [answerText(1, last), turnComplete(2), turnComplete(3)], /no frame after the final answer/],
    ['no final answer', [answerText(1, text), answerText(2, last)], /has had no final answer/],
    ['no last text', [answerText(1, text), turnComplete(2)], /isFinal before TurnComplete/],
    [
      'text after the last text',
      [answerText(1, last), answerText(2, text), turnComplete(3)],
      /no AnswerText after the final one/,
    ],
    [
      "another agent's text",
      [answerText(1, { ...text, agentId: 2 }), answerText(2, last), turnComplete(3)],
      /expected agent 1, turn \d+, came .*"agentId":2/,
    ],
    [
      "another turn's text",
      [answerText(1, text), answerText(2, { ...last, turnId: 7 }), turnComplete(3)],
      /turn 1, came .*"turnId":7/,
    ],
    ['a failed turn', [answerText(1, last), turnComplete(2, { ...complete, status: 'ERROR' })], /a turn failed/],
  ])('reports %s', (_, frames, sentence) => {
    expect(findViolations(frames)).toEqual([expect.stringMatching(sentence)]);
  });
});

describe('the search for canaries', () => {
  const ann = { name: 'Zulvik', guest: 'Quorbam', word: 'Vexdolt' };
  const bob = { name: 'Zulvik', guest: 'Brimruzz', word: 'Thaskplee' };
  const reader = { text: (tokens: unknown) => String(tokens) };
  const evaluated = (text: string) => [{ kind: 'evaluated', tokens: [text] }];

  it.each<[string, (search: CanarySearch) => unknown]>([
    ['an answer with own words', (search) => search.checkAnswer(ann, 'zulvik, quorbam and Vexdolt')],
    ['a prompt of one agent', (search) => search.checkTraces(evaluated('Zulvik Brimruzz Thaskplee'), reader)],
    ['a state of one agent', (search) => search.checkStateFile('Zulvik Quorbam')],
    ['a state of none', (search) => search.checkStateFile('')],
    ['a head of a prompt', (search) => search.checkPromptFile('You are Zulvik.', 'a.state')],
  ])('accepts %s', (_, check) => {
    const search = new CanarySearch([ann, bob]);
    check(search);
    expect(search.faults).toEqual([]);
  });

  it.each<[string, (search: CanarySearch) => unknown]>([
    ["an answer with another agent's word", (search) => search.checkAnswer(ann, 'Zulvik thaskplee')],
    ['a prompt of two agents', (search) => search.checkTraces(evaluated('Zulvik Quorbam Thaskplee'), reader)],
    ['a prompt of nobody', (search) => search.checkTraces(evaluated('Hello!'), reader)],
    ['a state of two agents', (search) => search.checkStateFile('Quorbam Brimruzz')],
    ['a head with what a user has said', (search) => search.checkPromptFile('Zulvik Vexdolt', 'a.state')],
    ['a head with the value of a variable', (search) => search.checkPromptFile('You are Zulvik. Quorbam', 'a.json')],
  ])('reports %s', (_, check) => {
    const search = new CanarySearch([ann, bob]);
    check(search);
    expect(search.faults).toHaveLength(1);
  });
});
