import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { chainGguf } from '../../scripts/gguf/chain.mjs';
import { byteLevelVocab } from '../../scripts/gguf/vocabulary.mjs';
import type { GenerateOptions, Sequence } from '../../src/inference/contract/engine.ts';
import type { SamplingParams } from '../../src/inference/contract/samplingParams.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { DraftYield } from '../../src/inference/llama/sampling/draftYield.ts';
import { patchNativeMethod } from '../../src/inference/llama/nativePatches.ts';
import { Pace } from '../../src/inference/contract/pace.ts';
import { type CallGrammar, all, any, text } from '../../src/chat/grammar/rule.ts';
import { generate, nextPrompt, userPrompt } from '../contracts/generation.ts';
import { openDemo, type Demo } from './demo.ts';
import { writeRecurrentModel } from './recurrentFile.ts';

type Options = Partial<Omit<GenerateOptions, 'sampling'>> & { readonly sampling?: Partial<SamplingParams> };

/** The demo model answers with a call, which repeats the names and words of the prompt. */
const prompt = userPrompt(
  'Open the northern river gate, please.',
  'Call a function as <tool_call>\n{"name": ..., "arguments": {...}}\n</tool_call>\n<tools>\n{"type": "function", "function": ' +
    '{"name": "open_gate", "parameters": {"type": "object", "properties": {"gate_name": {"type": "string"}}}}}\n</tools>',
);
const choice = all(text('e'), any(text(' one'), text(' two'), text(' old bridge')), text('; '));
const lazy: CallGrammar = { kind: 'lazy', triggers: [{ text: 'e', where: 'anywhere', rule: choice }], budget: 20 };
const full: CallGrammar = { kind: 'full', rule: all(text('the '), choice, text(' and the '), choice), budget: 80 };

type Modes = readonly (readonly [name: string, options: Options])[];

const greedy: Modes = [
  ['in free text', {}],
  ['with a stop string', { sampling: { stop: ['gate', 'river'] } }],
  ['with few tokens', { sampling: { max_tokens: 7 } }],
  ['with a full grammar', { grammar: full }],
  ['with a lazy grammar', { grammar: lazy }],
];

const drawn: Modes = [
  ['at temperature 1', { sampling: { temperature: 1 } }],
  ['at temperature 1.5 with top_k and min_p', { sampling: { temperature: 1.5, top_k: 20, min_p: 0.05 } }],
  ['with penalties', { sampling: { temperature: 0.7, repeat_penalty: 1.1, frequency_penalty: 0.3 } }],
  ['with a stop string', { sampling: { temperature: 1, stop: ['ld', 'er '] } }],
  ['with a lazy grammar', { grammar: lazy, sampling: { temperature: 1 } }],
];

/** Runs one after another, for each value. */
async function inOrder<T, R>(values: readonly T[], run: (value: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  for (const value of values) results.push(await run(value));
  return results;
}

// Drafts are evaluated whether they pay on this machine or not.
beforeAll(() => void vi.spyOn(DraftYield.prototype, 'allows').mockReturnValue(true));
afterAll(() => void vi.restoreAllMocks());

describe('speculation', () => {
  let demo: Demo;
  let sequence: () => Sequence;
  let batches = 0;
  beforeAll(async () => {
    demo = await openDemo();
    const opened = await demo.open(4);
    sequence = opened.sequence;
    patchNativeMethod<() => Promise<void>>(opened.context, 'decodeBatch', (decode) => () => {
      batches++;
      return decode();
    });
  });
  afterAll(() => demo.close());

  /** A generation, and its next turn in the same sequence. */
  async function turns(options: Options, sampling: Partial<SamplingParams>) {
    await using own = sequence();
    const sampled = { ...options, sampling: { ...options.sampling, ...sampling } };
    const first = await generate(own, prompt, sampled);
    const second = await generate(own, nextPrompt(prompt, first.text, 'Open the old river gate, too.'), sampled);
    return [first, second].map(({ text: answer, finishReason, tokens }) => ({
      answer,
      finishReason,
      generated: tokens.generated,
    }));
  }

  it.each(greedy)('changes no greedy text %s', async (_, options) => {
    expect(await turns(options, { speculate: 'prompt' })).toEqual(await turns(options, {}));
  });

  const seeds = [1, 2, 3, 4, 5];
  // With seeds 1 and 2 the grammar is entered again and again: its tokens do not count as those of the text.
  const grammarSeeds = seeds.slice(2);

  // Not always: on some CPUs batches of another shape round otherwise, and then about one draw of 300 comes out differently.
  it.each(drawn)('draws with the numbers of its seed %s', async (_, options) => {
    const run = (speculate: SamplingParams['speculate']): Promise<readonly string[]> =>
      inOrder(options.grammar ? grammarSeeds : seeds, async (seed) =>
        JSON.stringify(await turns(options, { seed, max_tokens: 12, speculate })),
      );
    const [drafted, plain] = [await run('prompt'), await run('off')];
    const equal = drafted.filter((text, index) => text === plain[index]).length;
    const equalToOtherSeed = drafted.filter((text, index) => text === plain[(index + 1) % plain.length]).length;
    expect(equal).toBeGreaterThan(equalToOtherSeed);
    expect(equal).toBeGreaterThanOrEqual(plain.length / 2);
  });

  it('needs fewer batches', async () => {
    const count = async (speculate: SamplingParams['speculate']): Promise<number> => {
      const before = batches;
      await turns({}, { speculate });
      return batches - before;
    };
    expect(await count('prompt')).toBeLessThan(await count('off'));
  });

  // Greedy: in batches of another shape a probability may differ a little.
  it('changes no text of sequences that decode together', async () => {
    const grammars = [undefined, lazy, undefined, full, undefined, lazy];
    const run = (speculate: SamplingParams['speculate']) =>
      Promise.all(grammars.map((grammar) => turns(grammar ? { grammar } : {}, { speculate })));
    expect(await run('prompt')).toEqual(await run('off'));
  });

  it('counts each token of a batch for the limit of tokens per second', async () => {
    const pace = new Pace();
    pace.set({ paused: false, maxTokensPerSecond: 10_000, maxThreads: 0 });
    const spent: number[] = [];
    const { rate } = pace;
    const spend = rate.spend.bind(rate);
    rate.spend = (tokens) => {
      spent.push(tokens);
      spend(tokens);
    };
    await using own = sequence();
    const { tokens } = await generate(own, prompt, { pace, sampling: { speculate: 'prompt', max_tokens: 30 } });
    const total = spent.reduce((sum, count) => sum + count, 0);
    // The draw of the end is counted, too.
    expect([tokens.generated, tokens.generated + 1]).toContain(total);
  });

  it('passes on what the receiver of the text throws', async () => {
    await using own = sequence();
    const onText = (): void => {
      throw new Error('no more');
    };
    const failing = generate(own, prompt, { onText, sampling: { speculate: 'prompt' } });
    await expect(failing).rejects.toThrow('no more');
    expect((await generate(own, prompt, { sampling: { speculate: 'prompt' } })).text).not.toBe('');
  });
});

describe('speculation of other models', () => {
  const engine = llamaEngine();
  const load = { contextSize: 128, slots: 1, threads: 1, gpu: 'off' } as const;
  let folder = '';
  beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'turngraph-'))));
  afterAll(async () => {
    await engine[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  it('changes no text with reasoning, with stop strings, and at the end of the context', async () => {
    const file = join(folder, 'chain.gguf');
    const vocab = byteLevelVocab({
      pre: 'llama-bpe',
      control: ['<eos>'],
      userDefined: ['<think>', '</think>'],
      bos: 0,
      eos: 0,
    });
    const chatTemplate =
      "{% for m in messages %}{{ m.content }}{% endfor %}{% if add_generation_prompt %}{{ '<think>' }}{% endif %}";
    // Reasons for ever in a circle, and answers in another one.
    const next = { '<think>': 'x', x: 'y', y: 'z', z: 'x', Ċ: 'o', o: 'k', k: 'o' };
    await writeFile(file, chainGguf({ vocab, chatTemplate, next }));
    await using model = await engine.load(file, load);
    const run = async (
      speculate: SamplingParams['speculate'],
      maxThinkingTokens: number,
      { grammar, stop = [] }: { readonly grammar?: CallGrammar; readonly stop?: readonly string[] } = {},
    ) => {
      await using own = model.openSequence();
      const thinking = { ...userPrompt('xyz ok'), thinking: true };
      const options = {
        maxThinkingTokens,
        ...(grammar && { grammar }),
        sampling: { speculate, stop, max_tokens: 1000 },
      };
      const { text: answer, finishReason, tokens } = await generate(own, thinking, options);
      return { answer, finishReason, generated: tokens.generated };
    };
    for (const budget of [5, 18, 19]) {
      expect(await run('prompt', budget)).toEqual(await run('off', budget));
      expect(await run('prompt', budget, { grammar: full })).toEqual(await run('off', budget, { grammar: full }));
    }
    for (const stop of ['x', 'yz', 'zxyz', 'yzxyzx', 'ok', 'kok', 'okok'])
      expect(await run('prompt', 20, { stop: [stop] }), stop).toEqual(await run('off', 20, { stop: [stop] }));
  });

  it('is off where the KV cache cannot be cut back', async () => {
    const file = join(folder, 'recurrent.gguf');
    await writeRecurrentModel(file);
    await using model = await engine.load(file, load);
    expect(model.canSpeculate).toBe(false);
    const run = async (speculate: SamplingParams['speculate']) => {
      await using own = model.openSequence();
      return (await generate(own, userPrompt('abc abc abc'), { sampling: { speculate } })).text;
    };
    expect(await run('prompt')).toBe(await run('off'));
  });
});
