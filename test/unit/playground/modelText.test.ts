import { describe, expect, it } from 'vitest';
import {
  bytesText,
  catalogueDetails,
  filterModels,
  memoryDetails,
  progressText,
  statusText,
} from '../../../playground/src/models/modelText.ts';
import { onDiskFirst, preferredModel } from '../../../playground/src/models/preferredModel.ts';
import type { ModelInfo } from '../../../src/client/index.ts';

const model = (more: Partial<ModelInfo> = {}): ModelInfo => ({
  name: 'demo',
  status: 'ABSENT',
  pinned: false,
  agents: 0,
  sizeBytes: 1.5 * 1024 ** 3,
  contextSize: 8192,
  toolCallFormat: 'chatml',
  toolCallFormatDetected: false,
  huggingfaceRepo: 'someone/demo',
  files: ['demo.gguf'],
  license: 'MIT',
  defaultSampling: null,
  description: 'Small; trained for tool calls.',
  backend: '',
  gpuLayers: 0,
  threads: 0,
  slots: 0,
  weightsBytes: 0,
  contextBytes: 0,
  slotBytes: 0,
  vramBytes: 0,
  prefillThreads: 0,
  purpose: 'chat',
  tokensPerSecond: 0,
  choice: '',
  ...more,
});

const textsOf = (details: readonly { readonly label: string; readonly value: string }[]): readonly string[] =>
  details.map(({ label, value }) => `${label}: ${value}`);

describe('the texts of models on the page', () => {
  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1.0 KiB'],
    [11_425_000, '10.9 MiB'],
    [397_000_000, '379 MiB'],
    [4.7 * 1024 ** 3, '4.7 GiB'],
  ])('write %d bytes as %s', (bytes, text) => {
    expect(bytesText(bytes)).toBe(text);
  });

  it('say what the catalogue knows, and what it does not', () => {
    expect(textsOf(catalogueDetails(model()))).toEqual([
      'Size: 1.5 GiB',
      'Context: 8,192 tokens',
      'Format of calls: chatml',
      'Licence: MIT',
    ]);
    const measured = textsOf(catalogueDetails(model({ tokensPerSecond: 750.598 })));
    expect(measured).toContain('Measured speed: 751 tokens/s');
    const unknown = model({ sizeBytes: 0, contextSize: 0, toolCallFormat: '', license: '' });
    expect(textsOf(catalogueDetails(unknown))).toEqual([
      'Size: not known',
      "Context: the model's own",
      'Format of calls: not known until it is loaded',
    ]);
  });

  it('list the memory of a model while it is loaded, and only then', () => {
    expect(memoryDetails(model({ status: 'DOWNLOADED' }))).toEqual([]);
    const loaded = model({
      status: 'LOADED',
      agents: 2,
      backend: 'cuda',
      gpuLayers: 28,
      threads: 1,
      prefillThreads: 4,
      slots: 4,
      weightsBytes: 2 * 1024 ** 3,
      contextBytes: 512 * 1024 ** 2,
      slotBytes: 128 * 1024 ** 2,
      vramBytes: 1024 ** 3,
    });
    expect(textsOf(memoryDetails(loaded))).toEqual([
      'Weights in memory: 2.0 GiB',
      'Context in memory: 512 MiB',
      'Slots: 4 of 128 MiB',
      'On graphics cards: 1.0 GiB',
      'Backend: cuda, 28 layers on the GPU',
      'Threads: 1, 4 for prefill',
      'Agents: 2',
    ]);
  });

  it('tell the progress of a load in percent, and of a download in bytes, too', () => {
    const progress = { modelName: 'demo', fraction: 0.256, bytesDone: 256 * 1024, bytesTotal: 1000 * 1024 };
    expect(progressText({})).toBe('…');
    expect(progressText({ progress: { ...progress, phase: 'LOADING' } })).toBe('25 %');
    expect(progressText({ progress: { ...progress, phase: 'DOWNLOADING' } })).toBe('25 %, 256 KiB of 1000 KiB');
  });

  it('are what a filter looks at: each of its words must be in one of them', () => {
    const models = [model({ name: 'Qwen 1B' }), model({ name: 'Llama 1B', status: 'LOADED', description: '' })];
    const namesOf = (filter: string): readonly string[] => filterModels(models, filter).map(({ name }) => name);
    expect(namesOf('')).toEqual(['Qwen 1B', 'Llama 1B']);
    expect(namesOf('1b TOOL')).toEqual(['Qwen 1B']);
    expect(namesOf(' loaded ')).toEqual(['Llama 1B']);
    expect(namesOf('1b gemma')).toEqual([]);
  });
});

describe('the proposed model', () => {
  it('is one in memory, else one on disk, and never one that must be downloaded', () => {
    const absent = model({ name: 'absent' });
    const onDisk = model({ name: 'on disk', status: 'DOWNLOADED' });
    const loaded = model({ name: 'loaded', status: 'LOADED' });
    expect(preferredModel([absent, onDisk, loaded])?.name).toBe('loaded');
    expect(preferredModel([absent, onDisk])?.name).toBe('on disk');
    expect(preferredModel([absent])).toBeUndefined();
    expect(statusText(onDisk)).toBe('on disk');
    expect(onDiskFirst([absent, onDisk, loaded]).map(({ name }) => name)).toEqual(['on disk', 'loaded', 'absent']);
  });
});
