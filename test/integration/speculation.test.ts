import { describe, expect, it } from 'vitest';
import type { LoadOptions } from '../../src/inference/contract/engine.ts';
import { mockEngine } from '../../src/inference/mock/engine.ts';
import { chat } from '../helpers/graphs.ts';
import { override } from '../helpers/heldEngine.ts';
import { errorOf, subprotocols, TestClient, useServer } from '../helpers/server.ts';

const mock = mockEngine({});
const recurrent = override(mock, {
  load: async (file: string, options: LoadOptions) => override(await mock.load(file, options), { canSpeculate: false }),
});

describe.each(subprotocols)('speculation over %s', (subprotocol) => {
  const server = useServer();
  const recurrentServer = useServer({ engines: { mock: recurrent } });

  it('gives no warning where it has an effect', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(chat({ sampling: { speculate: 'prompt' } }));
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ status: 'SUCCESS', warnings: [] });
  });

  it('gives one warning where the KV cache cannot be cut back, or an inference server runs the model', async () => {
    await using client = await TestClient.connect(recurrentServer().url, subprotocol);
    const agentId = await client.createAgent(chat({ sampling: { speculate: 'prompt' } }));
    const { warnings } = await client.sendMessage(agentId, 'hello');
    expect(warnings).toEqual([
      expect.stringMatching(
        /^answer: "speculate": "prompt" has no effect .*: its KV cache .*, or an inference server runs it; set it to "off"$/,
      ),
    ]);
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ warnings: [] });
    const plain = await client.createAgent(chat());
    expect(await client.sendMessage(plain, 'hello')).toMatchObject({ warnings: [] });
  });

  it('is refused with another value', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const graphJson = JSON.stringify(chat({ sampling: { speculate: 'always' } }));
    const { message } = errorOf(await client.request('createAgent', { graphJson }));
    expect(message).toContain('answer.params.sampling.speculate must be one of "off", "prompt"');
  });
});
