import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chainGguf } from '../../scripts/gguf/chain.mjs';
import { byteLevelVocab } from '../../scripts/gguf/vocabulary.mjs';
import { chat, setLight } from '../helpers/graphs.ts';
import { useServer, TestClient, oneSubprotocol, type TurnResult } from '../helpers/server.ts';

/** A model that reasons for ever unless its reasoning is closed: then it answers OK. */
const thinker = {
  vocab: byteLevelVocab({
    pre: 'llama-bpe',
    control: ['<eos>'],
    userDefined: ['<think>', '</think>'],
    bos: 0,
    eos: 0,
  }),
  chatTemplate:
    "{% for m in messages %}{% if m.thought %}{{ '<think>\\n' + m.thought + '\\n</think>\\n\\n' }}{% endif %}" +
    '{{ m.content }}{% endfor %}{% if add_generation_prompt %}{{ ":" }}{% endif %}',
  next: { ':': '<think>', '<think>': 'x', x: 'y', y: 'z', z: 'x', Ċ: 'O', O: 'K' },
};

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
  await writeFile(join(folder, 'thinker.gguf'), chainGguf(thinker));
  const variants = [{ engine: 'llama-cpp', local_path: '.', files: ['thinker.gguf'], context_size: 1024 }];
  await writeFile(join(folder, 'models.json'), JSON.stringify({ models: [{ name: 'thinker', variants }] }));
});
afterAll(() => rm(folder, { recursive: true }));

const server = useServer({
  get catalogue() {
    return join(folder, 'models.json');
  },
});

const params = { model_name: 'thinker', sampling: { temperature: 0, max_tokens: 30 }, max_thinking_tokens: 5 };

const reasoningOf = ({ events }: TurnResult): unknown =>
  events
    .filter(({ eventType }) => eventType === 'reasoning')
    .map(({ nodeName, eventType, payloadJson }) => [nodeName, eventType, JSON.parse(payloadJson) as unknown]);

describe.each(oneSubprotocol)('over %s, max_thinking_tokens', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol, 'llama-cpp');
  const change = (client: TestClient, agentId: number, changed: object) =>
    client.request('changeParams', { agentId, nodeName: 'answer', paramsJson: JSON.stringify(changed) });

  it('ends the reasoning of a model, so that it answers', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat(params), { enableDiagnostics: true });
    const turn = await client.sendMessage(agentId, 'Hello!');
    expect(turn).toMatchObject({ text: 'OK', stopReason: 'END', status: 'SUCCESS' });
    expect(reasoningOf(turn)).toEqual([['answer', 'reasoning', { text: 'xyzxy' }]]);
  });

  it('changes between turns, and is no limit by default', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat(params), { enableDiagnostics: true });
    expect((await change(client, agentId, { max_thinking_tokens: 2 })).body).toBe('ack');
    expect(reasoningOf(await client.sendMessage(agentId, 'Hello!'))).toEqual([['answer', 'reasoning', { text: 'xy' }]]);
    await change(client, agentId, { max_thinking_tokens: 0 });
    const unthinking = await client.sendMessage(agentId, 'Hello!');
    expect(unthinking.text).toBe('OK');
    expect(reasoningOf(unthinking)).toEqual([]);
    await change(client, agentId, { max_thinking_tokens: null });
    expect(await client.sendMessage(agentId, 'Hello!')).toMatchObject({ text: '', stopReason: 'LENGTH' });
    expect(await change(client, agentId, { max_thinking_tokens: -1 })).toMatchObject({
      error: { name: 'INVALID_PARAM_VALUE', message: expect.stringContaining('max_thinking_tokens') as string },
    });
  });

  it('holds for a node with tools, too', async () => {
    await using client = await connect();
    const node = { type: 'ToolCall', params: { ...params, tools: [setLight], generate_on_no_tool: true } };
    const agentId = await client.createAgent({ start_node: 'detect', nodes: { detect: node } });
    const turn = await client.sendMessage(agentId, 'Hello!');
    expect(turn).toMatchObject({ text: 'OK', steps: 'detect:no_tool_called', events: [] });
  });
});
