import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { afterAll, describe, expect, it } from 'vitest';
import { bertGguf } from '../../scripts/gguf/bert.mjs';
import { useServer } from '../helpers/server.ts';

const folder = mkdtempSync(join(tmpdir(), 'turngraph-'));
const variant = { engine: 'llama-cpp', local_path: '.', files: ['bert.gguf'] };
const models = [{ name: 'search', purpose: 'embedding', variants: [variant] }];
writeFileSync(join(folder, 'bert.gguf'), bertGguf());
writeFileSync(join(folder, 'models.json'), JSON.stringify({ models }));
afterAll(() => rmSync(folder, { recursive: true }));

const server = useServer({ openai: true, catalogue: join(folder, 'models.json') });
const baseURL = (): string => `http://127.0.0.1:${server().port}/v1`;
const client = (): OpenAI => new OpenAI({ baseURL: baseURL(), apiKey: 'none', maxRetries: 0 });
const embed = async (input: string | string[], options: Partial<OpenAI.EmbeddingCreateParams> = {}) =>
  client().embeddings.create({ model: 'search', input, ...options });
const dot = (a: readonly number[] = [], b: readonly number[] = []): number =>
  a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);

describe('embeddings over the OpenAI-compatible API', () => {
  it('are vectors of length 1 in the order of the texts, equal for equal texts', async () => {
    const { data, model, usage } = await embed(['the dragon', 'the moon', 'the dragon']);
    expect(model).toBe('search');
    expect(data.map(({ index }) => index)).toEqual([0, 1, 2]);
    const [first, second, third] = data.map(({ embedding }) => embedding);
    expect(first).toHaveLength(32);
    expect(dot(first, first)).toBeCloseTo(1, 4);
    expect(dot(first, third)).toBeCloseTo(1, 4);
    expect(dot(first, second)).toBeLessThan(0.9999);
    // Each has two words, and two tokens of the model around them.
    expect(usage).toEqual({ prompt_tokens: 12, total_tokens: 12 });
  });

  it('are the same as numbers and as base64', async () => {
    // The client itself asks for base64, and decodes it.
    const decoded = (await embed('the moon')).data[0]?.embedding;
    const numbers = (await embed('the moon', { encoding_format: 'float' })).data[0]?.embedding;
    expect(decoded).toEqual(numbers);
    const text = (await embed('the moon', { encoding_format: 'base64' })).data[0]?.embedding as unknown;
    expect(typeof text).toBe('string');
    expect([...new Float32Array(new Uint8Array(Buffer.from(String(text), 'base64')).buffer)]).toEqual(numbers);
  });

  it('may be asked for with the number of dimensions that the model has', async () => {
    expect((await embed('the moon', { dimensions: 32 })).data).toHaveLength(1);
  });

  it('may be of a text that fills the context, and not of a longer one', async () => {
    expect((await embed('moon '.repeat(62))).usage.prompt_tokens).toBe(64);
    await expect(embed('moon '.repeat(63))).rejects.toThrow('text 1 has 65 tokens, and the embedding model reads 64');
  });

  it('know the letters of a Hangul syllable', async () => {
    const [syllables, letters, others] = (await embed(['가', '\u1100\u1161', '고'])).data.map(
      ({ embedding }) => embedding,
    );
    expect(dot(syllables, letters)).toBeCloseTo(1, 4);
    expect(dot(syllables, others)).toBeLessThan(0.9999);
  });

  it.each<[string, object, string, string]>([
    ['tokens', { input: [1, 2, 3] }, 'input', 'has token ids'],
    ['lists of tokens', { input: [[1, 2], [3]] }, 'input', 'has token ids'],
    ['no text', { input: [] }, 'input', 'must not be empty'],
    ['an empty text', { input: ['a', ''] }, 'input[1]', 'must not be empty'],
    ['another type', { input: [{}] }, 'input[0]', 'must be a text'],
    ['too many texts', { input: Array.from({ length: 2049 }, () => 'a') }, 'input', 'has 2049 texts, and 2048'],
    ['a text that does not fit', { input: 'moon '.repeat(100) }, 'input', 'text 1 has'],
    ['fewer dimensions', { dimensions: 16 }, 'dimensions', 'must be 32'],
    ['a chat model', { model: 'turngraph-demo' }, 'model', 'name an embedding model such as "search"'],
    ['an unknown format', { encoding_format: 'int8' }, 'encoding_format', 'must be'],
    ['an unknown field', { truncate: true }, 'truncate', 'is not known here'],
  ])('are refused for %s', async (_, options, param, message) => {
    await expect(embed('the moon', options)).rejects.toMatchObject({
      status: 400,
      param,
      message: expect.stringContaining(message) as unknown,
    });
  });

  it('are refused for a model that is not there', async () => {
    await expect(embed('a', { model: 'serch' })).rejects.toMatchObject({ status: 404, code: 'model_not_found' });
  });

  it('are answered to POST only', async () => {
    expect((await fetch(`${baseURL()}/embeddings`)).status).toBe(405);
  });

  it('are not what a chat completion has', async () => {
    const messages = [{ role: 'user' as const, content: 'Hello!' }];
    await expect(client().chat.completions.create({ model: 'search', messages })).rejects.toMatchObject({
      status: 400,
      message: expect.stringContaining('is an embedding model, which generates no text') as unknown,
    });
  });
});
