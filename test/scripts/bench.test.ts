import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getLlama, LlamaLogLevel, type Llama, type LlamaModel } from 'node-llama-cpp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createResult, measureInterleaved, median, quantile, isGoalMet } from '../../scripts/bench/results.mjs';
import { cases } from '../../scripts/bench/cases.mjs';
import { formatTable } from '../../scripts/bench/table.mjs';
import { shapes } from '../../scripts/random-model/shapes.mjs';
import { writeRandomModel } from '../../scripts/random-model/write.mjs';

describe('the statistics of the benchmark', () => {
  it.each<[readonly number[], number]>([
    [[3], 3],
    [[9, 1, 5], 5],
    [[4, 1, 3, 2], 2.5],
  ])('take the median of %j', (numbers, middle) => expect(median(numbers)).toBe(middle));

  it('interpolate quantiles', () => {
    expect(quantile([0, 10], 0.25)).toBe(2.5);
    expect(quantile([5, 1, 4, 2, 3], 1)).toBe(5);
    expect(() => median([])).toThrow('no numbers');
  });

  it('interleave the runs of both sides, and drop the warm-up', async () => {
    const order: string[] = [];
    const side = (name: string) => (round: number) => {
      order.push(`${name}${round}`);
      return Promise.resolve(round);
    };
    const results = await measureInterleaved({ a: side('a'), b: side('b') }, 3);
    expect(order.join(' ')).toBe('b0 a0 a1 b1 b2 a2 a3 b3');
    expect(results).toEqual({ a: [1, 2, 3], b: [1, 2, 3] });
  });

  it.each([
    ['higher', 0.98, 0.97, true],
    ['higher', 0.96, 0.97, false],
    ['lower', 1.05, 1.05, true],
    ['lower', 1.06, 1.05, false],
    ['lower', 1.06, null, null],
  ] as const)('compare by direction: if %s is better, %d meets a goal of %s: %s', (better, ratio, goal, met) =>
    expect(isGoalMet({ ratio, goal, better })).toBe(met),
  );
});

describe('a result', () => {
  const slow = createResult({
    name: 'stream',
    of: 'demo',
    ratio: 0.5,
    goal: 0.9,
    better: 'higher',
    tokens: 12,
    all: [1],
  });
  const reported = createResult({
    name: 'start',
    of: 'listening',
    ratio: 812.4,
    unit: 'ms',
    goal: null,
    better: 'lower',
  });

  it('is plain data as JSON', () =>
    expect(JSON.parse(JSON.stringify([slow, reported]))).toEqual([
      {
        name: 'stream',
        of: 'demo',
        ratio: 0.5,
        unit: 'x',
        goal: 0.9,
        better: 'higher',
        met: false,
        detail: { tokens: 12, all: [1] },
      },
      {
        name: 'start',
        of: 'listening',
        ratio: 812.4,
        unit: 'ms',
        goal: null,
        better: 'lower',
        met: null,
        detail: {},
      },
    ]));

  it('is a row of the table', () =>
    expect(formatTable([slow, reported])).toMatchInlineSnapshot(`
    "| name   | of        | figure | goal     | met | measured  |
    | ------ | --------- | ------ | -------- | --- | --------- |
    | stream | demo      | 0.500  | >= 0.9   | NO  | tokens 12 |
    | start  | listening | 812 ms | reported |     |           |"
  `));

  it('is one row of the table, even if an example holds a newline or a bar', () => {
    const row = createResult({ ...slow, worst: 'a\nb\r\n| c' });
    const lines = formatTable([row]).split('\n');
    expect(lines).toHaveLength(3);
    expect(lines[2]).toMatch(/worst a\\nb\\r\\n\\\| c +\|$/);
  });
});

describe('the benchmark', () => {
  it('has a case for every row of the quality table', () =>
    expect(cases.map(({ name }) => name).toSorted()).toEqual(
      [
        'stream',
        'peers',
        'batch',
        'first-turn',
        'next-turn',
        'memory',
        'warm-start',
        'cast',
        'threads',
        'slots',
        'strict-call',
        'speculate',
        'turn',
        'detect',
        'cancel',
        'priority',
        'summary',
        'guest',
        'start',
        'process',
        'retrieve',
      ].toSorted(),
    ));
});

describe('a random model', () => {
  let folder: string;
  let llama: Llama;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-random-'));
    llama = await getLlama({ build: 'never', gpu: false, maxThreads: 0, logLevel: LlamaLogLevel.disabled });
  });
  afterAll(async () => {
    await llama.dispose();
    await rm(folder, { recursive: true });
  });

  type Shape = Partial<Parameters<typeof writeRandomModel>[1]>;
  async function loadRandomModel(weights: 'F16' | 'Q8_0', seed = 1, shape: Shape = {}): Promise<LlamaModel> {
    const file = join(folder, `${weights}-${seed}-${Object.keys(shape).join('-')}.gguf`);
    await writeRandomModel(file, { ...shapes.tiny, weights, seed, ...shape });
    return llama.loadModel({ modelPath: file });
  }

  async function generate(weights: 'F16' | 'Q8_0', seed: number, count: number, shape?: Shape): Promise<string> {
    const model = await loadRandomModel(weights, seed, shape);
    const context = await model.createContext({ contextSize: 256, batchSize: 256, threads: 1, flashAttention: true });
    const prompt = model.tokenize('<|im_start|>user\nHello!<|im_end|>\n<|im_start|>assistant\n', true);
    const tokens = [];
    for await (const token of context.getSequence().evaluate(prompt, { temperature: 0 })) {
      tokens.push(token);
      if (tokens.length === count) break;
    }
    await context.dispose();
    expect(tokens).toHaveLength(count);
    const text = model.detokenize(tokens, true);
    await model.dispose();
    return text;
  }

  it.each([
    ['F16', {}],
    ['Q8_0', {}],
    ['Q8_0', { kernel: 3, layers: 6 }],
    ['Q8_0', { window: 64 }],
  ] as const)(
    'with %s weights (%j) can be loaded and generates varied text without an end token',
    async (weights, shape) => {
      const text = await generate(weights, 1, 48, shape);
      expect(new Set(text).size).toBeGreaterThan(3);
      expect(text).toMatch(/^[\x20-\x7e]+$/);
    },
  );

  it('generates another text with another seed, and the same with the same seed', async () => {
    const text = await generate('Q8_0', 1, 16);
    expect(await generate('Q8_0', 1, 16)).toBe(text);
    expect(await generate('Q8_0', 2, 16)).not.toBe(text);
  });

  it('has a vocabulary that tokenizes and detokenizes text', async () => {
    const model = await loadRandomModel('Q8_0');
    const text = 'The keeper said: {"name": "Zoë", "arguments": {}} 42\n';
    const tokens = model.tokenize(text, false);
    expect(model.detokenize(tokens)).toBe(text);
    expect(tokens.length).toBeLessThan(text.length / 1.5);
    await model.dispose();
  });

  it('rejects an invalid shape', async () => {
    const file = join(folder, 'none.gguf');
    await expect(writeRandomModel(file, { ...shapes.tiny, width: 65 })).rejects.toThrow('multiple of 32');
    await expect(writeRandomModel(file, { ...shapes.tiny, kvHeads: 3 })).rejects.toThrow('multiple');
    await expect(writeRandomModel(file, { ...shapes.tiny, window: 64, kernel: 3 })).rejects.toThrow('not both');
    await expect(writeRandomModel(file, { ...shapes.tiny, words: 1_000_000 })).rejects.toThrow('no more');
  });
});
