import { setImmediate as nextRound } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Model } from '../../src/inference/contract/engine.ts';
import { neverAborted, useModel, type EngineUnderTest } from './generation.ts';

const texts = ['The sword of the dragon.', 'The moon is a document of the query', 'a'];

const dot = (a: Float32Array | undefined, b: Float32Array | undefined): number =>
  (a ?? new Float32Array()).reduce((sum, value, index) => sum + value * (b?.[index] ?? Number.NaN), 0);

const embed = async (model: Model, list: readonly string[], options = {}) => {
  if (!model.embed) throw new Error('it is no embedding model');
  return model.embed(list, { signal: neverAborted, ...options });
};

/** Contract of every engine that computes embeddings. */
export function embeddingContract(subject: Pick<EngineUnderTest, 'name' | 'open' | 'file'>): void {
  describe(`the ${subject.name} engine with an embedding model`, () => {
    const loaded = useModel(subject, { contextSize: 64, purpose: 'embedding' });

    it('reports the size of its vectors, and its context', () => {
      expect(loaded.model.embedding?.dimensions).toBeGreaterThan(0);
      expect(loaded.model.contextSize).toBe(64);
    });

    it('gives equal texts the similarity 1, and other texts another one', async () => {
      const { vectors } = await embed(loaded.model, [...texts, texts[0] ?? '']);
      expect(dot(vectors[0], vectors[3])).toBeCloseTo(1, 4);
      expect(dot(vectors[0], vectors[1])).toBeLessThan(0.9999);
      for (const vector of vectors) {
        expect(vector).toHaveLength(loaded.model.embedding?.dimensions ?? 0);
        expect(dot(vector, vector)).toBeCloseTo(1, 4);
      }
    });

    it('gives a text the same vector alone and among others, at once and later', async () => {
      const together = await embed(loaded.model, texts);
      const alone = await Promise.all(texts.map((text) => embed(loaded.model, [text])));
      for (const [index, { vectors }] of alone.entries())
        expect(dot(vectors[0], together.vectors[index])).toBeCloseTo(1, 4);
    });

    it('counts the tokens of each text', async () => {
      const { tokens } = await embed(loaded.model, texts);
      const counts = await loaded.model.count(texts);
      for (const [index, count] of counts.entries()) expect(tokens[index]).toBeGreaterThanOrEqual(count);
    });

    it('gives a text without tokens a vector of zeros', async () => {
      const { vectors, tokens } = await embed(loaded.model, ['', 'a', '']);
      for (const index of [0, 2]) expect(vectors[index]?.every((value) => value === 0)).toBe(true);
      expect([tokens[0], tokens[2]]).toEqual([0, 0]);
    });

    it('refuses a text that does not fit in the context, and cuts it where it is asked to', async () => {
      for (const long of ['moon '.repeat(100), 'moon '.repeat(100_000)]) {
        await expect(embed(loaded.model, ['a', long])).rejects.toMatchObject({
          name: 'PROMPT_TOO_LARGE',
          message: expect.stringContaining('text 2'),
        });
        const { vectors, tokens, truncated } = await embed(loaded.model, ['a', long], { truncate: true });
        expect(truncated).toEqual([1]);
        expect(tokens[1]).toBeLessThanOrEqual(64);
        expect(dot(vectors[1], vectors[1])).toBeCloseTo(1, 4);
      }
    });

    it('rejects with the reason of an aborted signal, and embeds the next text', async () => {
      const reason = new Error('no one waits');
      await expect(embed(loaded.model, texts, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
      const abort = new AbortController();
      const many = embed(loaded.model, Array<string>(200).fill('the moon'), { signal: abort.signal });
      const others = embed(loaded.model, texts, { priority: 'BACKGROUND' });
      await nextRound();
      abort.abort(reason);
      // An engine that computes nothing may be faster.
      await many.catch((error: unknown) => expect(error).toBe(reason));
      expect((await others).vectors).toHaveLength(texts.length);
    });

    it('lets a request overtake one of a lower priority', async () => {
      const order: string[] = [];
      const background = embed(loaded.model, Array<string>(100).fill('the moon'), { priority: 'BACKGROUND' });
      const urgent = embed(loaded.model, ['a'], { priority: 'URGENT' });
      await Promise.all([background.then(() => order.push('background')), urgent.then(() => order.push('urgent'))]);
      if (subject.name !== 'mock') expect(order).toEqual(['urgent', 'background']);
    });

    it('generates no text', async () => {
      await expect(async () => {
        await using sequence = loaded.model.openSequence();
        await sequence.generate(
          { messages: [{ role: 'user', text: 'Hello' }] },
          { sampling: {} as never, signal: neverAborted },
        );
      }).rejects.toMatchObject({ name: 'INFERENCE_FAILED', message: expect.stringContaining('embedding model') });
    });
  });
}
