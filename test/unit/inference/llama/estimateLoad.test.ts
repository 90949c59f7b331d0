import type { Llama } from 'node-llama-cpp';
import { describe, expect, it } from 'vitest';
import type { LoadOptions } from '../../../../src/inference/contract/engine.ts';
import { chooseLayers, type readEstimates } from '../../../../src/inference/llama/estimateLoad.ts';

const cardWith = (free: number, names: readonly string[] = ['A card']): Llama =>
  ({
    gpu: 'vulkan',
    vramPaddingSize: 50,
    getGpuDeviceNames: async () => names,
    getVramState: async () => ({ free }),
  }) as unknown as Llama;

/** Ten layers of 100 bytes each; a token of a slot takes a byte for each layer on the card. */
const estimates: Awaited<ReturnType<typeof readEstimates>> = {
  totalLayers: 10,
  weights: async (layers) => ({ ram: 0, vram: 100 * layers }),
  context: (layers) => ({
    slots: 4,
    contextSize: 4096,
    notes: [],
    estimate: async ({ slots, contextSize }) => ({ ram: 0, vram: layers * slots * contextSize }),
  }),
};

const choose = (llama: Llama, options: Partial<LoadOptions>): Promise<number> =>
  chooseLayers(llama, { contextSize: 4096, slots: 0, threads: 1, gpu: 'vulkan', ...options }, async () => estimates);

describe('the layers of a model that go on the card', () => {
  it.each<[string, number, Partial<LoadOptions>, number]>([
    ['are all that leave room for one slot', 10 * 4196 + 50, {}, 10],
    ['are fewer where a slot has no room', 10 * 4196 + 49, {}, 9],
    ['are fewer where slots are asked for that have no room', 10 * 4196 + 50, { slots: 2 }, 5],
    ['leave room for a short context where a limit makes it shorter', 1e9, { within: { ram: 1e9, vram: 21_480 } }, 10],
    ['are as many as are asked for', 0, { gpuLayers: 7 }, 7],
  ])('%s', async (_, free, options, layers) => {
    expect(await choose(cardWith(free), options)).toBe(layers);
  });

  it('are none without a card, for which nothing is estimated', async () => {
    expect(await choose(cardWith(1e9, []), {})).toBe(0);
    expect(await choose(cardWith(1e9, []), { gpuLayers: 7 })).toBe(0);
  });

  it('fail to be chosen where the card has no room for one of them', async () => {
    await expect(choose(cardWith(4245), {})).rejects.toThrow('no layer of the model fits on the graphics card');
  });
});
