import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { familyGguf } from '../../scripts/gguf/families.mjs';
import { llamaEngine } from '../../src/inference/llama/engine.ts';
import { chat } from '../helpers/graphs.ts';
import { errorOf, startTestServer, TestClient } from '../helpers/server.ts';
import { demoFile } from './demo.ts';
import { demoWithTemplate } from './demoTemplate.ts';

/** Bytes of a header that are replaced: those `skip` bytes after a key or a name. */
interface Mutation {
  readonly name: string;
  /** Bytes between the name and the replaced ones. */
  readonly skip: number;
  readonly bytes: Buffer;
}

const u32 = (value: number): Buffer => Buffer.from(Uint32Array.of(value).buffer);
const f32 = (value: number): Buffer => Buffer.from(Float32Array.of(value).buffer);
// After a key come 4 bytes of its type.
const value = (name: string, bytes: Buffer): Mutation => ({ name: `llama.${name}`, skip: 4, bytes });
// After a vector's name come its rank and one dimension, 4 and 8 bytes; after that of a matrix there are two.
const type = (name: string, rank: number, id: number): Mutation => ({ name, skip: 4 + 8 * rank, bytes: u32(id) });

// Each of these ended the process.
it.each<[string, Mutation, string]>([
  ['too many layers', value('block_count', u32(1000)), 'block_count is 1000'],
  ['no heads of keys', value('attention.head_count_kv', u32(0)), 'head_count_kv is 0'],
  ['values without size', value('attention.value_length', u32(0)), 'value_length is 0'],
  ['a negative epsilon', value('attention.layer_norm_rms_epsilon', f32(-1)), 'epsilon is -1'],
  ['an epsilon that is no number', value('attention.layer_norm_rms_epsilon', f32(NaN)), 'epsilon is NaN'],
  ['a norm in half precision', type('output_norm.weight', 1, 1), 'output_norm.weight has the type 1'],
  ['whole numbers for weights', type('blk.0.attn_q.weight', 2, 25), 'attn_q.weight has the type 25'],
])('a model with %s is refused before llama.cpp aborts', async (_, { name, skip, bytes }, problem) => {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const file = join(folder, 'model.gguf');
  const content = await readFile(demoFile);
  bytes.copy(content, content.indexOf(name) + name.length + skip);
  await writeFile(file, content);
  await using engine = llamaEngine();
  const loading = engine.load(file, { contextSize: 256, slots: 1, threads: 1, gpu: 'off' });
  await expect(loading).rejects.toMatchObject({
    name: 'MODEL_LOAD_FAILED',
    message: expect.stringContaining(problem) as unknown,
  });
  await rm(folder, { recursive: true });
});

it('a SentencePiece model without a byte token is refused: a message with such a character would end the process', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const file = join(folder, 'model.gguf');
  const content = familyGguf('Mistral 7B Instruct v0.3');
  content.write('<0xG0>', content.indexOf('<0xF0>'));
  await writeFile(file, content);
  await using engine = llamaEngine();
  const loading = engine.load(file, { contextSize: 256, slots: 1, threads: 1, gpu: 'off' });
  await expect(loading).rejects.toThrow('its vocabulary has no <0xF0>');
  await rm(folder, { recursive: true });
});

it('a model whose chat template takes too long is refused with the line, and the next one loads', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  const loop = '\n{% for a in range(9999) %}\n{% for b in range(9999) %}{% endfor %}{% endfor %}';
  await writeFile(join(folder, 'hostile.gguf'), await demoWithTemplate(`{{ messages[0].content }}${loop}`));
  await copyFile(demoFile, join(folder, 'demo.gguf'));
  const models = ['hostile', 'demo'].map((name) => ({
    name,
    variants: [{ engine: 'llama-cpp', local_path: '.', files: [`${name}.gguf`], context_size: 256 }],
  }));
  await writeFile(join(folder, 'models.json'), JSON.stringify({ models }));
  await using server = await startTestServer({ catalogue: join(folder, 'models.json') });
  await using client = await TestClient.connect(server.url, 'turngraph.v1.json', 'llama-cpp');
  const create = (model: string) =>
    client.request('createAgent', { graphJson: JSON.stringify(chat({ model_name: model })) });
  expect(errorOf(await create('hostile'))).toMatchObject({
    code: 6009,
    message: expect.stringContaining('tokenizer.chat_template, line 3: ') as string,
  });
  expect(await create('demo')).toHaveProperty('createAgent.agentId');
  await rm(folder, { recursive: true });
});
