import { describe, expect, it, vi } from 'vitest';
import { mockEngine } from '../../../../src/inference/mock/engine.ts';
import { readMockScript } from '../../../../src/inference/mock/script.ts';
import { defaultSampling } from '../../../../src/inference/contract/samplingParams.ts';
import { countRight, benchmarkFormat, type FormatScore } from '../../../../src/cli/doctor/toolBenchmark.ts';
import { chatml } from '../../../../src/chat/formats/chatml.ts';
import { formats } from '../../../../src/chat/formats/index.ts';

const call = (name: string, args: object): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: args })}\n</tool_call>`;

/** Benchmarks a mock model that answers by a script, in chatml. */
async function benchmarkScript(script: Readonly<Record<string, string>>): Promise<FormatScore> {
  const entries = Object.entries(script).map(([match, answer]) => ({ match, answer }));
  await using engine = mockEngine({ script: readMockScript(JSON.stringify(entries), 'script') });
  const model = await engine.load('', { contextSize: 0, slots: 1, threads: 1, gpu: 'off' });
  const format = formats.get('chatml');
  if (!format) throw new Error('there is no chatml');
  return await benchmarkFormat(model, format, defaultSampling, () => undefined);
}

describe('the benchmark of a tool-call format', () => {
  it('compares calls by name and values, ignoring types and case', async () => {
    const { free, strict } = await benchmarkScript({
      kitchen: call('set_light', { room: 'Kitchen', on: 'true' }),
      bedroom: call('set_light', { room: 'the bedroom', on: false }),
      apples: call('give_item', { item: 'apples', count: '3' }),
      torches: call('give_item', { item: 'torch', count: 12 }),
      cellar: call('set_light', { room: 'cellar', on: true }),
      evening: 'Very well, thank you.',
    });
    expect([countRight(free), free.length]).toEqual([6, 6]);
    // A constrained call with wrong types counts as no call.
    expect(strict?.map(({ outcome }) => outcome)).toEqual(['no call', 'right', 'no call', 'right', 'right', 'right']);
  });

  it('reports what is wrong with other calls', async () => {
    const { free } = await benchmarkScript({
      kitchen: call('set_light', { room: 'hall', on: true }),
      bedroom: call('set_light', { room: 'bedroom', on: false }) + call('set_light', { room: 'bedroom', on: false }),
      apples: call('give_item', { item: 'apples', count: 3, now: true }),
      torches: '<tool_call>\n{"name": "give_item", "arguments": {"item": "tor',
      cellar: 'How sad.',
      evening: call('set_light', { room: 'inn', on: true }),
    });
    expect(free.map(({ expectsCall, outcome }) => [expectsCall, outcome])).toEqual([
      [true, 'wrong call'],
      [true, 'wrong call'],
      [true, 'wrong call'],
      [true, 'cut off'],
      [true, 'no call'],
      [false, 'unexpected call'],
    ]);
    expect(free[4]?.text).toBe('How sad.');
  });

  it('compiles the grammar once for all questions', async () => {
    await using engine = mockEngine();
    const model = await engine.load('', { contextSize: 0, slots: 1, threads: 1, gpu: 'off' });
    const grammar = vi.fn(chatml.grammar);
    await benchmarkFormat(model, { ...chatml, grammar }, defaultSampling, () => undefined);
    expect(grammar).toHaveBeenCalledOnce();
  });
});
