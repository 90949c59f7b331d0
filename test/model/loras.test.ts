import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Engine, LoadOptions, Model, Sequence } from '../../src/inference/contract/engine.ts';
import { loraGguf } from '../../scripts/gguf/lora.mjs';
import { list, number, real, text, u32 } from '../../scripts/gguf/values.mjs';
import { readGguf } from '../../src/inference/llama/gguf/validateFile.ts';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { ProcessEngine } from '../../src/inference/process/engine.ts';
import { generate, longText, neverAborted, userPrompt } from '../contracts/generation.ts';
import { demoFile } from './demo.ts';

const prompt = userPrompt('Hm');
const head = `You keep a lamp. ${longText(8)}`;
const changed = /^blk\.\d+\.(?:attn_q|ffn_down)\.weight$/;

describe('LoRA adapters', () => {
  let folder: string;
  let engine: Engine;
  /** The shapes of the tensors of the demo model. */
  let shapes: ReadonlyMap<string, readonly number[]>;
  let architecture: string;
  /** What the model answers without an adapter. */
  let free: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    engine = llamaEngine({ folder: join(folder, 'cache'), maxStateBytes: 2 ** 28 });
    const { header } = await readGguf(demoFile);
    shapes = new Map(header.tensors.map(({ name, dimensions }) => [name, dimensions]));
    architecture = String(header.values.get('general.architecture'));
    free = await answer(undefined);
  });
  afterAll(async () => {
    await engine[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  const load = (
    loras: LoadOptions['loras'],
    options: Partial<LoadOptions> = {},
    loader: Engine = engine,
  ): Promise<Model> => loader.load(demoFile, { contextSize: 512, slots: 1, threads: 1, gpu: 'off', loras, ...options });

  type Adapter = Partial<Parameters<typeof loraGguf>[0]>;

  /** The tensors of the model whose names fit a pattern. */
  const tensorsLike = (pattern: RegExp): Record<string, readonly number[]> =>
    Object.fromEntries([...shapes].filter(([name]) => pattern.test(name)));

  async function write(name: string, adapter: Adapter | Buffer): Promise<string> {
    const file = join(folder, name);
    const bytes = Buffer.isBuffer(adapter)
      ? adapter
      : loraGguf({ architecture, tensors: tensorsLike(changed), ...adapter });
    await writeFile(file, bytes);
    return file;
  }

  /** What a model answers with adapters, greedily. */
  async function answer(...options: Parameters<typeof load>): Promise<string> {
    await using model = await load(...options);
    await using sequence = model.openSequence();
    return (await generate(sequence, prompt)).text;
  }

  it('change the text, by their scale, and several add up', async () => {
    const file = await write('loud.gguf', {});
    const other = await write('other.gguf', { seed: 2, type: 'F16' });
    const loud = await answer([{ file, scale: 1 }]);
    expect(loud).not.toBe(free);
    expect(await answer([{ file, scale: 1 }])).toBe(loud);
    expect(await answer([{ file, scale: 0 }])).toBe(free);
    expect(await answer([{ file, scale: 0.5 }])).not.toBe(loud);
    expect(await answer([{ file: other, scale: 1 }])).not.toBe(loud);
    const both = await answer([
      { file, scale: 1 },
      { file: other, scale: 1 },
    ]);
    expect([free, loud]).not.toContain(both);
    // The same change by two adapters whose scales cancel each other out.
    const copy = await write('copy.gguf', {});
    expect(
      await answer([
        { file, scale: 1 },
        { file: copy, scale: -1 },
      ]),
    ).toBe(free);
  });

  it('change the text in an engine process, too, and are refused by name there where one does not fit', async () => {
    const [file, foreign] = [await write('own.gguf', {}), await write('foreign.gguf', { architecture: 'gemma3' })];
    await using processes = new ProcessEngine();
    await expect(load([{ file: foreign, scale: 1 }], {}, processes)).rejects.toThrow(
      `its LoRA ${foreign} does not fit: it is for the architecture gemma3`,
    );
    const own = [{ file, scale: 1 }];
    expect(await answer(own, {}, processes)).toBe(await answer(own));
  });

  it('hold in every slot, in those that a model gets on demand, too', async () => {
    const file = await write('slots.gguf', {});
    const resizing = { requestMemory: async () => true, onResized: () => undefined };
    await using model = await load([{ file, scale: 1 }], { resizing, slots: 0 });
    // Few tokens: batches of other sizes round differently.
    const say = async (sequence: Sequence): Promise<string> =>
      (await generate(sequence, prompt, { sampling: { max_tokens: 8 } })).text;
    const sequences = Array.from({ length: 16 }, () => model.openSequence());
    const rounds = [];
    for (let round = 0; round < 3; round++) rounds.push(await Promise.all(sequences.map(say)));
    expect(model.stats().slots).toBeGreaterThan(4);
    const texts = new Set(rounds.flat());
    expect(texts.size).toBe(1);
    const [loud = ''] = texts;
    expect((await answer([{ file, scale: 1 }])).startsWith(loud)).toBe(true);
    expect(free.startsWith(loud)).toBe(false);
  });

  it('count as memory of the model', async () => {
    const file = await write('counted.gguf', { rank: 64 });
    const { bytes } = await readGguf(file);
    const options = { contextSize: 512, slots: 1, threads: 1, gpu: 'off' } as const;
    const plain = await engine.estimate?.(demoFile, options);
    const adapted = await engine.estimate?.(demoFile, { ...options, loras: [{ file, scale: 1 }] });
    expect((adapted?.weights.ram ?? 0) - (plain?.weights.ram ?? 0)).toBe(bytes);
  });

  it('share no prompt cache with another adapter, another scale or none', async () => {
    const [one, two] = [await write('one.gguf', { seed: 3 }), await write('two.gguf', { seed: 4 })];
    const variants: readonly LoadOptions['loras'][] = [
      undefined,
      [{ file: one, scale: 1 }],
      [{ file: one, scale: 0.5 }],
      [{ file: two, scale: 1 }],
    ];
    const ask = async (loras: LoadOptions['loras']): Promise<{ said: string; restored: number }> => {
      await using model = await load(loras);
      await using sequence = model.openSequence();
      const { text: said } = await generate(sequence, userPrompt('Who are you?', head));
      return { said, restored: model.stats().promptsRestored };
    };
    const warm = async (loras: LoadOptions['loras']): Promise<string> => {
      await using model = await load(loras);
      await using sequence = model.openSequence();
      return (await sequence.prefill(userPrompt('', head), neverAborted, { keep: true })).kept;
    };
    for (const loras of variants) {
      const cold = await ask(loras);
      expect(cold.restored, JSON.stringify(loras)).toBe(0);
      expect(await warm(loras)).toBe('saved');
      expect(await ask(loras)).toEqual({ ...cold, restored: 1 });
    }
    // The same name and size, but other changes.
    const { said } = await ask([{ file: one, scale: 1 }]);
    await write('one.gguf', { seed: 5 });
    const other = await ask([{ file: one, scale: 1 }]);
    expect(other.restored).toBe(0);
    expect(other.said).not.toBe(said);
  });

  const garbage = Buffer.from('GGUF with nothing that a GGUF file has, and long enough to be one of a few bytes');
  const first = 'blk.0.attn_q.weight';
  it.each<[string, () => Adapter | Buffer, string]>([
    ['is a text', () => Buffer.from('Once upon a time there was a lamp.'), 'it is no GGUF file'],
    ['is empty', () => Buffer.alloc(0), 'it is no GGUF file'],
    ['is garbage', () => garbage, 'GGUF version'],
    ['ends in its header', () => loraBytes().subarray(0, 300), 'it ends in the middle of its header'],
    ['ends in its weights', () => loraBytes().subarray(0, -4000), 'it is damaged or cut short'],
    ['is a model', () => readFileSync(demoFile), 'it is no LoRA adapter'],
    ['is a control vector', () => ({ metadata: { 'adapter.type': text('cvec') } }), 'it is no LoRA adapter'],
    ['has a number as its kind', () => ({ metadata: { 'general.type': number(1) } }), 'it is no LoRA adapter'],
    [
      'is for another architecture',
      () => ({ architecture: 'gemma3' }),
      'it is for the architecture gemma3, and the model has',
    ],
    [
      'names no architecture',
      () => ({ metadata: { 'general.architecture': undefined } }),
      'the architecture of no name',
    ],
    [
      'has a whole number as alpha',
      () => ({ metadata: { 'adapter.lora.alpha': number(4) } }),
      'its adapter.lora.alpha is no',
    ],
    [
      'has no number as alpha',
      () => ({ metadata: { 'adapter.lora.alpha': real(Number.NaN) } }),
      'its adapter.lora.alpha is no',
    ],
    [
      'is an activated one',
      () => ({ metadata: { 'adapter.alora.invocation_tokens': list(4, [u32(1)]) } }),
      'it is an activated LoRA',
    ],
    ['has no tensors', () => ({ tensors: {} }), 'it has no tensors'],
    [
      'is for a larger model',
      () => ({ tensors: { [first]: [4096, 4096] } }),
      `its change of ${first} has another shape`,
    ],
    [
      'is for more layers',
      () => ({ tensors: { 'blk.99.attn_q.weight': [64, 64] } }),
      'the model has no tensor blk.99.attn_q.weight',
    ],
    [
      'lacks half of a change',
      () => ({ shapes: { [`${first}.lora_b`]: undefined } }),
      'is alone: the other one of blk.0.attn_q.weight',
    ],
    [
      'has two ranks',
      () => ({ shapes: { [`${first}.lora_b`]: [8, shapes.get(first)?.[1] ?? 0] } }),
      'has another shape',
    ],
    [
      'has planes',
      () => ({ shapes: { [`${first}.lora_a`]: [shapes.get(first)?.[0] ?? 0, 4, 3] } }),
      'has another shape',
    ],
    ['has another kind of tensor', () => ({ shapes: { 'blk.0.attn_q.bias': [64] } }), 'is neither lora_a nor lora_b'],
    [
      'changes the embeddings, which are the output, too',
      () => {
        const [width = 0, words = 0] = shapes.get('token_embd.weight') ?? [];
        const own = { 'token_embd.weight.lora_a': [4, words], 'token_embd.weight.lora_b': [4, width] };
        return { tensors: {}, shapes: own };
      },
      'which is the output of the model, too',
    ],
  ])('are refused by name where one %s', async (_, adapter, expected) => {
    const file = await write('unfit.gguf', adapter());
    const loading = load([{ file, scale: 1 }]);
    await expect(loading).rejects.toMatchObject({ name: 'MODEL_LOAD_FAILED' });
    await expect(loading).rejects.toThrow(`its LoRA ${file} does not fit: `);
    await expect(loading).rejects.toThrow(expected);
  });

  it('are refused by name where one is split', async () => {
    const file = await write('split-00001-of-00002.gguf', {});
    await write('split-00002-of-00002.gguf', {});
    await expect(load([{ file, scale: 1 }])).rejects.toThrow(`its LoRA ${file} does not fit: it is split`);
  });

  it('are refused by name where there is none, and leave the engine as it was', async () => {
    const file = join(folder, 'nowhere.gguf');
    await expect(load([{ file, scale: 1 }])).rejects.toThrow(
      `its LoRA ${file} does not fit: there is no file nowhere.gguf`,
    );
    expect(await answer(undefined)).toBe(free);
  });

  const loraBytes = (): Buffer => loraGguf({ architecture, tensors: tensorsLike(changed) });
});
