import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shapes } from '../../scripts/random-model/shapes.mjs';
import { writeRandomModel } from '../../scripts/random-model/write.mjs';
import { setLight } from '../helpers/graphs.ts';
import { startTestServer, oneSubprotocol, TestClient } from '../helpers/server.ts';

let folder = '';
const kinds = ['hybrid', 'window'];
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  // Each token is one byte.
  const random = { ...shapes.tiny, words: 259, contextLength: 4096, weights: 'F32' } as const;
  await writeRandomModel(join(folder, 'hybrid.gguf'), { ...random, layers: 3, kernel: 3 });
  await writeRandomModel(join(folder, 'window.gguf'), { ...random, window: 128 });
  const variantOf = (name: string) => ({
    engine: 'llama-cpp',
    local_path: '.',
    context_size: 4096,
    files: [`${name}.gguf`],
  });
  const models = kinds.map((name) => ({ name, variants: [variantOf(name)] }));
  await writeFile(join(folder, 'models.json'), JSON.stringify({ models }));
});
afterAll(() => rm(folder, { recursive: true }));

const graphOf = (model: string) => ({
  default_model_name: model,
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: { tools: [setLight], sampling: { temperature: 0, max_tokens: 16 } },
      exits: { no_tool_called: 'answer' },
    },
    answer: {
      type: 'Generate',
      params: {
        system_prompt: 'You keep the lamps of a long hall. '.repeat(10),
        sampling: { temperature: 0, max_tokens: 24 },
      },
    },
  },
});

const messages = ['How are you?', 'Which lamp is that?', 'And the one over there?', 'Who lit it?', 'Thank you!'];
// Of the template around a message, and of its end.
const messageTokens = 14;

describe.each(oneSubprotocol)('turns over %s', (subprotocol) => {
  it.each(kinds)('of a model with a cache that cannot be cut back evaluate only new messages: %s', async (kind) => {
    await using server = await startTestServer({ catalogue: join(folder, 'models.json') });
    await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    const agentId = await client.createAgent(graphOf(kind));
    let previous = '';
    for (const [index, text] of messages.entries()) {
      const turn = await client.sendMessage(agentId, text);
      expect(turn).toMatchObject({ status: 'SUCCESS', steps: 'detect:no_tool_called answer:default' });
      const newToToolCall = previous.length + text.length + 2 * messageTokens;
      const newToGenerate = text.length + 2 * messageTokens;
      if (index > 0) expect(turn.tokensPrompt - turn.tokensReused).toBeLessThanOrEqual(newToToolCall + newToGenerate);
      previous = turn.text;
    }
  });
});
