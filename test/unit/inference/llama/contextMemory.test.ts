import { describe, expect, it } from 'vitest';
import { fitContext, type ContextSettings } from '../../../../src/inference/llama/contextMemory.ts';

/** 50 bytes of compute buffers, and a byte for each 1,024 tokens of a slot. */
const estimate = async ({ slots, contextSize }: ContextSettings) => ({
  ram: 50 + (slots * contextSize) / 1024,
  vram: 0,
});
const wanted = { slots: 4, contextSize: 8192 };

describe('the context of a model', () => {
  it.each<[string, ContextSettings, number, Partial<ContextSettings>]>([
    ['is the wanted one where that fits', wanted, 82, wanted],
    ['is the wanted one without a limit', wanted, Infinity, wanted],
    ['has fewer slots where they do not fit', wanted, 81, { slots: 3, contextSize: 8192 }],
    ['has one slot before it becomes shorter', wanted, 58, { slots: 1, contextSize: 8192 }],
    ['is as long as fits in steps of 256 tokens', wanted, 57.9, { slots: 1, contextSize: 7936 }],
    ['is as long as fits with one slot', { slots: 1, contextSize: 8192 }, 54.1, { slots: 1, contextSize: 4096 }],
    ['is never shorter than 2,048 tokens', wanted, 10, { slots: 1, contextSize: 2048 }],
    ['stays shorter where that was asked for', { slots: 2, contextSize: 512 }, 10, { slots: 1, contextSize: 512 }],
  ])('%s', async (_, settings, ram, expected) => {
    expect(await fitContext(estimate, settings, { ram, vram: Infinity })).toMatchObject(expected);
  });

  it('has what it takes, and what each slot takes', async () => {
    const within = { ram: Infinity, vram: Infinity };
    const { context, slot } = await fitContext(estimate, wanted, within);
    expect({ context, slot }).toEqual({ context: { ram: 82, vram: 0 }, slot: { ram: 8, vram: 0 } });
  });

  it('fits in the memory of a card, too', async () => {
    const onCard = async (settings: ContextSettings) => ({ ram: 1, vram: (await estimate(settings)).ram });
    expect(await fitContext(onCard, wanted, { ram: Infinity, vram: 70 })).toMatchObject({ slots: 2 });
  });
});
