import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { measureIntents, readIntents } from '../../scripts/evals/intents.mjs';
import { measureRecall, readLores } from '../../scripts/evals/recall.mjs';
import { weightsFile } from '../../scripts/weights.mjs';
import { connect, type Client } from '../../src/client/index.ts';
import type { TurngraphServer } from '../../src/server/socket/server.ts';
import { isSkipped } from '../helpers/requirements.mjs';
import { repositoryPath, startTestServer } from '../helpers/server.ts';

describe.skipIf(isSkipped('embeddingWeights'))('with the weights of MiniLM', () => {
  let folder = '';
  let server: TurngraphServer;
  let client: Client;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-weights-'));
    const file = await weightsFile('minilm');
    // As long as the texts that its authors let it read.
    const variant = { engine: 'llama-cpp', local_path: dirname(file), files: [basename(file)], context_size: 256 };
    const models = [{ name: 'minilm', purpose: 'embedding', variants: [variant] }];
    await writeFile(join(folder, 'models.json'), JSON.stringify({ models, extends: false }));
    const places = {
      openai: true,
      catalogue: join(folder, 'models.json'),
      cache: join(folder, 'cache'),
      storageRoot: folder,
    };
    server = await startTestServer(places);
    client = await connect(server.url);
  });
  afterAll(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  describe('vectors are those of PyTorch (minilmVectors.py)', () => {
    const tolerance = 0.001;
    const farthest = (a: readonly number[], b: readonly number[]): number =>
      Math.max(...a.map((value, index) => Math.abs(value - (b[index] ?? Infinity))));
    const dot = (a: readonly number[], b: readonly number[]): number =>
      a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
    const readReference = async () =>
      JSON.parse(await readFile(repositoryPath('test/fixtures/minilmVectors.json'), 'utf8')) as readonly {
        readonly text: string;
        readonly vector: readonly number[];
      }[];

    it('of texts of several scripts, number by number', async () => {
      const texts = (await readReference()).slice(0, -1);
      expect(texts).toHaveLength(9);
      const body = JSON.stringify({ model: 'minilm', input: texts.map(({ text }) => text) });
      const headers = { 'content-type': 'application/json' };
      const url = `http://127.0.0.1:${server.port}/v1/embeddings`;
      const { data } = (await (await fetch(url, { method: 'POST', headers, body })).json()) as {
        readonly data: readonly { readonly embedding: readonly number[] }[];
      };
      for (const [index, { vector }] of texts.entries()) {
        const own = data[index]?.embedding ?? [];
        expect(farthest(vector, own)).toBeLessThan(tolerance);
        expect(1 - dot(own, vector)).toBeLessThan(tolerance);
      }
    });

    it('and of a text that is cut, in a search', async () => {
      const reference = await readReference();
      const records = reference.map(({ text }, index) => ({ id: String(index), text }));
      await writeFile(join(folder, 'texts.kb.json'), JSON.stringify({ embedding_model: 'minilm', records }));
      for (const { text: query, vector } of reference) {
        const { hits } = await client.searchStorage({ name: 'texts.kb.json', query, match: 'vectors', topK: 10 });
        const found = hits.toSorted((one, other) => Number(one.id) - Number(other.id)).map(({ score }) => score);
        const expected = reference.map((other) => dot(vector, other.vector));
        expect(farthest(expected, found)).toBeLessThan(tolerance);
      }
    });
  });

  describe('a Route by examples', () => {
    it('has five examples and five other phrasings of 40 intents, and 50 messages about something else', async () => {
      const { labels, messages } = await readIntents();
      const examples = labels.flatMap((label) => label.examples);
      const texts = messages.map(({ text }) => text);
      expect([labels.length, examples.length, texts.length]).toEqual([40, 200, 250]);
      expect(messages.filter(({ label }) => label === '')).toHaveLength(50);
      expect(new Set([...examples, ...texts]).size).toBe(450);
    });

    it('takes the right exit for 185 of 200 phrasings that no example has, and is led astray by 3 of 50 others', async () => {
      const params = { match: 'vectors', embedding_model: 'minilm' };
      const { right, unrelated, routes } = await measureIntents(client, { ...params, threshold: 0.4 });
      expect(right).toBeGreaterThanOrEqual(184);
      expect(unrelated).toBeLessThanOrEqual(3);
      // It is led astray by none with a higher threshold, and still takes about nine of ten. Only those near it are sent again.
      const near = routes.filter(({ exit, similarity }) => exit !== 'no_match' && similarity < 0.55);
      const far = routes.filter(({ similarity }) => similarity >= 0.55);
      expect(near.length).toBeGreaterThan(unrelated);
      const higher = await measureIntents(client, { ...params, threshold: 0.5 }, undefined, near);
      const rightFar = far.filter(({ label, exit }) => label === exit);
      expect(higher.unrelated + far.filter(({ label }) => label === '').length).toBe(0);
      expect(higher.right + rightFar.length).toBeGreaterThanOrEqual(178);
      expect(higher.routes.some(({ exit }) => exit === 'no_match')).toBe(true);
    });
  });

  it('finds about as much of a lore by words and vectors together as by the better of the two', async () => {
    for (const { questions: all, ...rest } of await readLores()) {
      const lore = { ...rest, questions: all.filter((_, index) => index % 2 === 0) };
      const { words, vectors, both } = await measureRecall(client, lore, folder, 'minilm');
      expect(both.first).toBeGreaterThanOrEqual(Math.max(words.first, vectors.first) - 1);
      expect(both.amongThree).toBeGreaterThanOrEqual(Math.max(words.amongThree, vectors.amongThree) - 1);
      expect(both.amongThree).toBeGreaterThanOrEqual(0.8 * lore.questions.length);
    }
  });
});
