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
const inputsOf = (interactions: readonly Interaction[]) => {
  return { dialog: { interactions }, system: 'be kind', current: [], maxTokens: 10 };
};

describe('the context window', () => {
  it('counts as much of a long dialog as fits, however long it is', async () => {
    const countedOf = async (interactions: number): Promise<number> => {
      const { model, counted } = countingModel(200);
      const { messages } = await new TokenBudget(model).messages(inputsOf(dialogOf(interactions)));
      expect(messages.length).toBeGreaterThan(11);
      return counted.length;
    };
    expect(await countedOf(10_000)).toBe(await countedOf(100));
  });

  it('counts each interaction once, and no old one again', async () => {
    const { model, counted } = countingModel(200);
    const window = new TokenBudget(model);
    const dialog = dialogOf(1000);
    await window.messages(inputsOf(dialog));
    counted.length = 0;
    await window.messages(inputsOf([...dialog, { user: 'new', assistant: 'one' }]));
    expect(counted).toEqual(['be kind', 'new', 'one']);
  });

  it('has a limited number of interactions, also in a large context', async () => {
    const { model } = countingModel(1_000_000);
    const window = new TokenBudget(model);
    expect(await window.messages(inputsOf(dialogOf(500)))).toMatchObject({ dropped: 0 });
    const { messages, dropped } = await window.messages(inputsOf(dialogOf(5000)));
    expect(messages).toHaveLength(1 + 2 * 375);
    expect(dropped).toBe(4625);
  });

  it('says that a message is too large without its exact size, where the model stopped counting', async () => {
    const { model } = countingModel(200);
    const inputs = { ...inputsOf([]), current: [{ role: 'user', text: 'x'.repeat(1000) }] as const };
    await expect(new TokenBudget(model).messages(inputs)).rejects.toMatchObject({
      name: 'PROMPT_TOO_LARGE',
      message: expect.stringContaining('take more than 200 tokens'),
    });
  });
});
