import { describe, expect, it } from 'vitest';
import { parseCatalogue } from '../../../../../src/inference/models/catalogue/catalogue.ts';
import type { ModelFacts } from '../../../../../src/inference/models/suggestions/modelFacts.ts';
import {
  type ModelWish,
  suggestModels,
  type TargetMachine,
} from '../../../../../src/inference/models/suggestions/suggestModels.ts';

const GB = 1e9;
const machine: TargetMachine = { freeRam: 16 * GB, card: undefined, bandwidth: 20 * GB, slots: 0 };

/** Facts of a model that is not on disk. */
function absent(name: string, variant: object = {}): ModelFacts {
  const variants = [{ engine: 'llama-cpp', files: [`${name}.gguf`], ...variant }];
  const entry = parseCatalogue(JSON.stringify({ models: [{ name, variants }] }), 'models.json').models.get(name);
  if (!entry) throw new Error('the entry is invalid');
  return { entry, status: 'ABSENT', bytesOnDisk: undefined, shape: undefined };
}
const any: ModelWish = { minTokensPerSecond: 0, maxBytes: 0, languages: [] };
const namesOf = async (models: readonly ModelFacts[], on: TargetMachine = machine): Promise<readonly string[]> =>
  (await suggestModels(models, on)).map(({ name, fit }) => `${name}: ${fit}`);

describe('suggested models', () => {
  it('are those that fit, the larger first; slow, unknown and too large ones come last', async () => {
    const models = ['huge-90b-q8_0', 'mystery', 'small-1b-q4_k_m', 'slow-9b-q8_0', 'good-3b-q4_k_m'].map((name) =>
      absent(name),
    );
    expect(await namesOf(models)).toEqual([
      'good-3b-q4_k_m: memory',
      'small-1b-q4_k_m: memory',
      'slow-9b-q8_0: slow',
      'mystery: unknown',
      'huge-90b-q8_0: no',
    ]);
  });

  it('are none whose files cannot be used', async () => {
    const broken = { ...absent('small-1b-q4_k_m'), problem: 'it is no GGUF file' };
    expect(await suggestModels([broken, absent('good-3b-q4_k_m')], machine)).toMatchObject([
      { name: 'good-3b-q4_k_m', fit: 'memory' },
      { name: 'small-1b-q4_k_m', fit: 'no', problem: broken.problem, tokensPerSecond: undefined },
    ]);
  });

  it('are to be downloaded until they are on disk, even if more has come than their estimated size', async () => {
    const partial = { ...absent('small-1b-q4_k_m', { huggingface_repo: 'ann/x' }), keptBytes: 2 * GB };
    expect((await suggestModels([partial], machine))[0]?.downloadBytes).toBeGreaterThan(0);
  });

  it('need their weights and the KV caches of four slots, or of --slots', async () => {
    const [model] = await suggestModels([absent('a', { size_bytes: GB, context_size: 1024 })], machine);
    const slot = 128 * 1024 * 1024;
    expect(model).toMatchObject({
      size: { value: GB, basis: 'known' },
      slotBytes: { value: slot, basis: 'assumed' },
      neededBytes: GB + 4 * slot,
    });
    const [withOne] = await suggestModels([absent('a', { size_bytes: GB, context_size: 1024 })], {
      ...machine,
      slots: 1,
    });
    expect(withOne?.neededBytes).toBe(GB + slot);
  });

  it('have the KV cache that their entry states until they are on disk', async () => {
    const small = { size_bytes: 640e6, context_size: 8192, kv_bytes_per_token: 12_288 };
    const [model] = await suggestModels([absent('a', small)], machine);
    expect(model).toMatchObject({ slotBytes: { value: 8192 * 12_288, basis: 'known' }, fit: 'memory' });
    const [quantized] = await suggestModels([absent('a', { ...small, kv_cache_type: 'q8_0' })], machine);
    expect(quantized?.slotBytes.value).toBe(8192 * 12_288 * 0.53);
    const shape = { trainedContext: 4096, bytesPerToken: 1000 };
    const [onDisk] = await suggestModels([{ ...absent('a', small), shape }], machine);
    expect(onDisk?.slotBytes).toEqual({ value: 4096 * 1000, basis: 'known' });
  });

  it('were trained for tool calls, before larger ones that were not', async () => {
    const untrained = (name: string): ModelFacts => {
      const facts = absent(name);
      return { ...facts, entry: { ...facts.entry, tool_call_format: 'generic' } };
    };
    const models = [
      untrained('big-4b-q4_k_m'),
      absent('small-1b-q4_k_m'),
      untrained('tiny-0.5b-q4_k_m'),
      absent('slow-9b-q8_0'),
    ];
    expect(await namesOf(models)).toEqual([
      'small-1b-q4_k_m: memory',
      'big-4b-q4_k_m: memory',
      'tiny-0.5b-q4_k_m: memory',
      'slow-9b-q8_0: slow',
    ]);
  });

  it('may fit with one slot only', async () => {
    const model = absent('a', { size_bytes: GB, context_size: 8192 });
    expect(await namesOf([model], { ...machine, freeRam: 3 * GB })).toEqual(['a: one-slot']);
    expect(await namesOf([model], { ...machine, freeRam: 2 * GB })).toEqual(['a: no']);
  });

  it('on disk have the size and the shape of their file', async () => {
    const shape = { trainedContext: 4096, bytesPerToken: 1000 };
    const facts = { ...absent('a-70b-q8_0', { kv_cache_type: 'q8_0' }), bytesOnDisk: 2 * GB, shape };
    const [model] = await suggestModels([facts], machine);
    expect(model).toMatchObject({
      size: { value: 2 * GB, basis: 'known' },
      contextSize: 4096,
      slotBytes: { value: 4096 * 1000 * 0.53, basis: 'known' },
    });
  });

  it('are expected to decode as fast as memory is read', async () => {
    const [model] = await suggestModels([absent('a', { size_bytes: 2 * GB })], machine);
    expect(model?.tokensPerSecond).toBe(10);
    const [unmeasured] = await suggestModels([absent('a', { size_bytes: 2 * GB })], {
      ...machine,
      bandwidth: undefined,
    });
    expect(unmeasured).toMatchObject({ fit: 'memory', tokensPerSecond: undefined });
  });

  it('fit on a graphics card first, whose speed is unknown', async () => {
    const card = { names: ['a card'], freeBytes: 8 * GB, totalBytes: 8 * GB };
    const models = [
      absent('small-3b-q4_k_m', { context_size: 2048 }),
      absent('large-13b-q4_k_m', { context_size: 2048 }),
    ];
    const suggestions = await suggestModels(models, { ...machine, card });
    expect(suggestions.map(({ name, fit }) => `${name}: ${fit}`)).toEqual([
      'small-3b-q4_k_m: card',
      'large-13b-q4_k_m: slow',
    ]);
    expect(suggestions[0]?.tokensPerSecond).toBeUndefined();
  });

  it('need no more memory than they have if they are loaded', async () => {
    const model = absent('a', { size_bytes: 12 * GB, context_size: 1024, huggingface_repo: 'ann/x' });
    const full = { ...machine, freeRam: GB };
    expect((await suggestModels([model], full))[0]).toMatchObject({ fit: 'no', isLeftOut: true });
    expect((await suggestModels([{ ...model, held: { ram: 13 * GB, vram: 0 } }], full))[0]).toMatchObject({
      fit: 'slow',
    });
  });

  it('are downloaded in part and can be downloaded further', async () => {
    const facts = { ...absent('a', { size_bytes: GB, huggingface_repo: 'ann/x' }), problem: 'part 2 is missing' };
    expect((await suggestModels([facts], machine))[0]).toMatchObject({ fit: 'memory', isLeftOut: false });
  });

  it('are fast enough on a graphics card, and unknown without a measurement', async () => {
    const size = { size_bytes: GB, huggingface_repo: 'ann/x' };
    const slow = await suggestModels(
      [absent('a', size)],
      { ...machine, bandwidth: undefined },
      { ...any, minTokensPerSecond: 1 },
    );
    expect(slow[0]?.why).toBe('its speed is unknown, because the memory bandwidth could not be measured');
    const card = { names: ['a card'], freeBytes: 8 * GB, totalBytes: 8 * GB };
    const fast = await suggestModels([absent('a', size)], { ...machine, card }, { ...any, minTokensPerSecond: 1000 });
    expect(fast[0]).toMatchObject({ fit: 'card', isLeftOut: false, why: 'it fits on the graphics card' });
  });
});
