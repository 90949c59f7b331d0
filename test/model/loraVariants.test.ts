import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loraGguf } from '../../scripts/gguf/lora.mjs';
import { readGguf } from '../../src/inference/llama/gguf/validateFile.ts';
import type { TurngraphServer } from '../../src/server/socket/server.ts';
import { FakeHub, sha256 } from '../helpers/fakeHub.ts';
import { chat } from '../helpers/graphs.ts';
import { errorOf, repositoryPath, startTestServer, oneSubprotocol, TestClient } from '../helpers/server.ts';
import { demoFile } from './demo.ts';

/** A server with variants of the demo model, and the hub that it downloads from. */
describe('the variants of a model with LoRA adapters', () => {
  let root: string;
  let hub: FakeHub;
  let server: TurngraphServer;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), 'turngraph-'));
    hub = await FakeHub.open();
    const { header } = await readGguf(demoFile);
    const changed = header.tensors.filter(({ name }) => name.endsWith('ffn_down.weight'));
    const tensors = Object.fromEntries(changed.map(({ name, dimensions }) => [name, dimensions]));
    const architecture = String(header.values.get('general.architecture'));
    const wizard = loraGguf({ architecture, tensors });
    hub.files.set('ann/voices/wizard.gguf', { content: wizard });
    await writeFile(join(root, 'own.gguf'), loraGguf({ architecture, tensors, seed: 2 }));
    await writeFile(join(root, 'foreign.gguf'), loraGguf({ architecture: 'gemma3', tensors }));
    const base = { engine: 'llama-cpp', local_path: repositoryPath('models'), files: ['turngraph-demo.gguf'] };
    const entry = (name: string, lora?: readonly object[]): object => ({
      name,
      variants: [{ ...base, context_size: 512, lora }],
    });
    const url = 'https://huggingface.co/ann/voices/resolve/main/wizard.gguf';
    const models = [
      entry('plain'),
      entry('own', [{ file: 'own.gguf' }]),
      entry('silent', [{ file: 'own.gguf', scale: 0 }]),
      entry('wizard', [{ url, scale: 0.8, sha256: sha256(wizard), size_bytes: wizard.length }]),
      entry('foreign', [{ file: 'foreign.gguf' }]),
      entry('lost', [{ file: 'lost.gguf' }]),
    ];
    await writeFile(join(root, 'models.json'), JSON.stringify({ extends: false, models }));
    const env = { HF_ENDPOINT: hub.url, HF_HUB_CACHE: join(root, 'cache') };
    server = await startTestServer({
      catalogue: join(root, 'models.json'),
      models: join(root, 'models'),
      downloads: { env, home: join(root, 'home'), maxAttempts: 1 },
      slots: 1,
    });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await hub[Symbol.asyncDispose]();
    await rm(root, { recursive: true });
  });

  describe.each(oneSubprotocol)('over %s', (subprotocol) => {
    const connect = (): Promise<TestClient> => TestClient.connect(server.url, subprotocol, 'llama-cpp');

    async function answer(client: TestClient, model: string): Promise<string> {
      const graph = chat({ model_name: model, sampling: { temperature: 0, max_tokens: 16 } });
      const agentId = await client.createAgent(graph);
      const { text } = await client.sendMessage(agentId, 'Hm');
      await client.request('destroyAgent', { agentId });
      return text;
    }

    it('speak each in its own way, with adapters of the user and of the hub', async () => {
      await using client = await connect();
      await client.request('downloadModel', { modelName: 'wizard' });
      const texts = new Map<string, string>();
      for (const model of ['plain', 'own', 'silent', 'wizard', 'plain']) {
        const text = await answer(client, model);
        // The same again, after the others.
        expect(texts.get(model) ?? text).toBe(text);
        texts.set(model, text);
      }
      expect(texts.get('silent')).toBe(texts.get('plain'));
      expect(new Set(texts.values()).size).toBe(3);
    });

    it('are refused by the name of an adapter that does not fit, and others go on', async () => {
      await using client = await connect();
      const { code, message } = errorOf(await client.request('loadModel', { modelName: 'foreign' }));
      expect(code).toBe(6009);
      expect(message).toContain(
        `its LoRA ${join(root, 'foreign.gguf')} does not fit: it is for the architecture gemma3`,
      );
      const lost = errorOf(await client.request('loadModel', { modelName: 'lost' }));
      expect(lost.message).toContain(`there is no file ${join(root, 'lost.gguf')}, which is a LoRA of its entry`);
      expect(await answer(client, 'plain')).not.toBe('');
    });
  });
});
