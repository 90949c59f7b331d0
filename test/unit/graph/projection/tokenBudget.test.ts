import { describe, expect, it } from 'vitest';
import type { Interaction } from '../../../../src/chat/dialog.ts';
import type { Model } from '../../../../src/inference/contract/engine.ts';
import { TokenBudget } from '../../../../src/graph/projection/tokenBudget.ts';

/** A model that counts one token per character, and which texts it was asked to count. */
function countingModel(contextSize: number): { readonly model: Model; readonly counted: string[] } {
  const counted: string[] = [];
  const model = {
    contextSize,
    overhead: { prompt: 0, message: 0 },
    count: async (texts: readonly string[]) => {
      counted.push(...texts);
      return texts.map(({ length }) => length);
    },
  } as unknown as Model;
  return { model, counted };
}

const dialogOf = (count: number): Interaction[] =>
  Array.from({ length: count }, () => ({ user: 'hello', assistant: 'fine!' }));
const system = { texts: ['be kind'], tokens: 0 };

describe('the context window', () => {
  it('counts as much of a long dialog as fits, however long it is', async () => {
    const countedOf = async (interactions: number): Promise<number> => {
      const { model, counted } = countingModel(200);
      const { visible } = await new TokenBudget(model).fit(dialogOf(interactions), system, 10);
      expect(visible.length).toBeGreaterThan(5);
      return counted.length;
    };
    expect(await countedOf(10_000)).toBe(await countedOf(100));
  });

  it('counts each interaction once, and no old one again', async () => {
    const { model, counted } = countingModel(200);
    const window = new TokenBudget(model);
    const dialog = dialogOf(1000);
    await window.fit(dialog, system, 10);
    counted.length = 0;
    await window.fit([...dialog, { user: 'new', assistant: 'one' }], system, 10);
    expect(counted).toEqual(['be kind', 'new', 'one']);
  });

  it('has a limited number of interactions, also in a large context', async () => {
    const { model } = countingModel(1_000_000);
    const window = new TokenBudget(model);
    expect(await window.fit(dialogOf(500), system, 10)).toMatchObject({ dropped: 0 });
    const { visible, dropped } = await window.fit(dialogOf(5000), system, 10);
    expect(visible).toHaveLength(375);
    expect(dropped).toBe(4625);
  });

  it('says that a message is too large without its exact size, where the model stopped counting', async () => {
    const { model } = countingModel(200);
    const fit = new TokenBudget(model).fit([], { texts: ['x'.repeat(1000)], tokens: 0 }, 10);
    await expect(fit).rejects.toMatchObject({
      name: 'PROMPT_TOO_LARGE',
      message: expect.stringContaining('take more than 200 tokens'),
    });
  });
});
