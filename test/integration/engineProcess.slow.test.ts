import { describe, expect, it, beforeAll, afterAll } from 'vitest';
import { ProcessEngine } from '../../src/inference/process/engine.ts';
import type { TurngraphServer } from '../../src/server/socket/server.ts';
import { notifications, result } from '../helpers/resultGraphs.ts';
import { isRunning } from '../helpers/runningProcesses.ts';
import { errorOf, startTestServer, oneSubprotocol, TestClient } from '../helpers/server.ts';

const briefly = 5;
const speaker = {
  default_model_name: 'turngraph-demo',
  start_node: 'answer',
  // A schema forces answers that end at their limit of tokens.
  nodes: {
    answer: {
      type: 'Generate',
      params: {
        sampling: { temperature: 0, max_tokens: briefly },
        response_schema: { type: 'array', minItems: 20, items: { type: 'string', minLength: 200 } },
      },
    },
  },
};

describe.each(oneSubprotocol)('a server whose engine process crashes (%s)', (subprotocol) => {
  let server: TurngraphServer;
  let pids: number[] = [];
  const crash = (): void => void process.kill(pids.at(-1) ?? 0, 'SIGKILL');
  beforeAll(async () => {
    pids = [];
    const engine = new ProcessEngine({ onStart: (pid) => pids.push(pid) });
    server = await startTestServer({ engines: { 'llama-cpp': engine } });
  });
  afterAll(() => server[Symbol.asyncDispose]());

  const setMaxTokens = (client: TestClient, agentId: number, max_tokens: number) =>
    client.request('changeParams', {
      agentId,
      nodeName: 'answer',
      paramsJson: JSON.stringify({ sampling: { max_tokens } }),
    });

  /** Sends a message and kills the engine process at the first text of its turn. */
  async function crashInTurn(client: TestClient, agentId: number) {
    // No machine completes this answer before the process is killed.
    await setMaxTokens(client, agentId, 900);
    const requestId = client.send('sendMessage', { agentId, text: 'Tell me a story' });
    await client.waitFor((frame) => frame.requestId === requestId && frame.body === 'answerText');
    crash();
    const turn = await client.turnOf(requestId);
    await setMaxTokens(client, agentId, briefly);
    return turn;
  }

  it('ends the turns in flight with 4005, and every agent continues its dialog', async () => {
    await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    await using other = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    const agents = [
      { from: client, id: await client.createAgent(speaker) },
      { from: other, id: await other.createAgent('chat') },
    ];
    for (const { from, id } of agents) await from.sendMessage(id, 'How are you today?');
    const turn = await crashInTurn(client, agents[0]?.id ?? 0);
    expect(turn).toMatchObject({ status: 'ERROR', error: { code: 4005, name: 'ENGINE_CRASHED' } });
    for (const { from, id } of agents) {
      expect(await from.sendMessage(id, 'Hello again')).toMatchObject({ status: 'SUCCESS' });
      const { historyJson } = await from
        .request('exportDialog', { agentId: id })
        .then((frame) => (frame.body === 'exportDialog' ? frame.exportDialog : { historyJson: '' }));
      expect(historyJson).toContain('How are you today?');
      expect(historyJson).toContain('Hello again');
    }
  });

  it('gives a model up after three crashes without a finished turn, until LoadModel', async () => {
    await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    const agentId = await client.createAgent(speaker);
    await client.sendMessage(agentId, 'How are you today?');
    for (let count = 1; count <= 3; count++) expect((await crashInTurn(client, agentId)).error?.code).toBe(4005);
    const turn = await client.sendMessage(agentId, 'Hello again');
    expect(turn.error).toMatchObject({
      code: 6009,
      message: expect.stringContaining('crashed 3 times without a finished turn; loadModel tries again'),
    });
    const started = pids.length;
    const refused = await client.request('createAgent', { graphJson: JSON.stringify(speaker) });
    // The fault of a model is that of the graph that names it.
    expect(errorOf(refused).message).toContain('crashed 3 times');
    const status = async (): Promise<unknown> => {
      const answer = await client.request('listModels', {});
      return answer.body === 'listModels' && answer.listModels.models.find(({ name }) => name === 'turngraph-demo');
    };
    expect(await status()).not.toMatchObject({ status: 'LOADED' });
    expect(pids).toHaveLength(started);
    expect((await client.request('loadModel', { modelName: 'turngraph-demo' })).body).toBe('loadModel');
    expect(await status()).toMatchObject({ status: 'LOADED' });
    expect(pids.slice(started).filter(isRunning)).toHaveLength(1);
    expect(await client.sendMessage(agentId, 'Hello again')).toMatchObject({ status: 'SUCCESS' });
    await client.request('unloadModel', { modelName: 'turngraph-demo' });
  });

  it('ends a turn that is cancelled while the model is loaded again', async () => {
    await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    const agentId = await client.createAgent(speaker);
    await crashInTurn(client, agentId);
    const requestId = client.send('sendMessage', { agentId, text: 'Hello' });
    await client.request('cancelTurn', { agentId });
    expect((await client.turnOf(requestId)).status).toBe('CANCELLED');
    expect((await client.sendMessage(agentId, 'Hello again')).status).toBe('SUCCESS');
  });

  it('lets the new process answer the node after a turn that waits for results', async () => {
    await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
    const agentId = await client.createAgent('weather');
    const requestId = client.send('sendMessage', { agentId, text: 'What is the weather in Paris?' });
    const [call] = await notifications(client, requestId, 1);
    crash();
    await client.request('submitToolResults', { agentId, results: [result({ ...call, content: 'sunny' })] });
    const turn = await client.turnOf(requestId);
    // The crash may be noticed only when the next node sends its request to the process.
    if (turn.status === 'ERROR') expect(turn.error?.code).toBe(4005);
    else expect(turn.steps).toBe('detect:tool_called answer:default');
    expect(await client.sendMessage(agentId, 'Thanks!')).toMatchObject({ status: 'SUCCESS' });
  });
});

describe('a server with engine processes', () => {
  it('reads the memory and the cards of the machine in one of them, which the first model then uses', async () => {
    const pids: number[] = [];
    const engine = new ProcessEngine({ onStart: (pid) => pids.push(pid) });
    await using server = await startTestServer({ engines: { 'llama-cpp': engine } });
    await using client = await TestClient.connect(server.url, 'turngraph.v1.proto', 'llama-cpp');
    const answer = await client.request('suggestModels', {});
    expect(answer).toMatchObject({ suggestModels: { machine: { cards: [], problem: '' } } });
    await client.createAgent(speaker);
    expect(pids.length).toBe(1);
    const later = await client.request('suggestModels', {});
    const models = expect.arrayContaining([expect.objectContaining({ name: 'turngraph-demo', status: 'LOADED' })]);
    expect(later).toMatchObject({ suggestModels: { models: models as unknown } });
  });
});
