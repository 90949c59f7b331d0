import { describe, expect, it } from 'vitest';
import { routed, routesOf } from '../helpers/routeGraphs.ts';
import { startTestServer, oneSubprotocol, TestClient, useServer, type TestServerOptions } from '../helpers/server.ts';

const graph = (labels: Parameters<typeof routed>[0], params: object = {}) => ({
  ...routed(labels, params),
  default_model_name: 'turngraph-demo',
});

const shop = [
  { name: 'order', when: 'the user wants to buy something', examples: ['two beers', 'say "ale",\nand pay'] },
  { name: 'complain', when: 'the user is not content', examples: ['my soup is cold'] },
  { name: 'chat', when: 'anything else' },
];
const messages = ['Hello, how are you?', 'A beer, please.', 'This soup is cold.'];

const server = useServer();

/** The probabilities of each message, one turn after the other; two agents take turns, as often as there are slots for one. */
async function routeAll(options: TestServerOptions): Promise<readonly (readonly (readonly number[])[])[]> {
  await using own = await startTestServer(options);
  await using client = await TestClient.connect(own.url, 'turngraph.v1.json', 'llama-cpp');
  const agents = [await client.createAgent(graph(shop)), await client.createAgent(graph(shop))];
  const seen: (readonly number[])[][] = agents.map(() => []);
  for (const message of messages)
    for (const [index, agentId] of agents.entries()) {
      const [route] = routesOf(await client.sendMessage(agentId, message));
      seen[index]?.push(Object.values(route?.probabilities ?? {}));
    }
  return seen;
}

describe.each(oneSubprotocol)('a Route by the demo model, over %s', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol, 'llama-cpp');

  it.each([
    ['three labels', shop],
    ['64 labels', Array.from({ length: 64 }, (_, index) => ({ name: `label ${index}` }))],
    ['labels in other scripts', [{ name: '注文' }, { name: '🍺' }, { name: '<|im_end|>' }]],
  ])('gives %s probabilities that sum to 1, and the most probable one is its exit', async (_, labels) => {
    await using client = await connect();
    const turn = await client.sendMessage(await client.createAgent(graph(labels)), 'A beer, please.');
    const [{ label, probabilities = {} } = { label: '' }] = routesOf(turn);
    expect(Object.keys(probabilities)).toEqual(labels.map(({ name }) => name));
    const shares = Object.values(probabilities);
    expect(Math.abs(shares.reduce((sum, share) => sum + share, 0) - 1)).toBeLessThan(1e-6);
    expect(probabilities[label]).toBe(Math.max(...shares));
    expect(turn).toMatchObject({ steps: `sort:${label} say:default`, tokensGenerated: 0 });
  });

  it('evaluates only what is new in the next turn', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graph(shop));
    const first = await client.sendMessage(agentId, 'Hello, how are you?');
    const second = await client.sendMessage(agentId, 'A beer, please.');
    expect(second.tokensReused).toBeGreaterThanOrEqual(first.tokensPrompt - 1);
  });

  it('has evaluated its labels before the first message, with warm_up', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(graph(shop), { warmUp: true });
    const { tokensPrompt, tokensReused } = await client.sendMessage(agentId, 'Hello!');
    expect(tokensPrompt - tokensReused).toBeLessThan(20);
  });

  it('ends its turn when that is cancelled while labels are scored', async () => {
    await using client = await connect();
    const labels = Array.from({ length: 16 }, (_, index) => ({ name: `${index} ${'very long '.repeat(6).trim()}` }));
    const agentId = await client.createAgent(graph(labels), { enableDiagnostics: true });
    const requestId = client.send('sendMessage', { agentId, text: 'A beer, please.' });
    await client.waitFor(({ body, requestId: id }) => id === requestId && body === 'nodeEvent');
    await client.request('cancelTurn', { agentId });
    const turn = await client.turnOf(requestId);
    expect(turn).toMatchObject({ status: 'CANCELLED', path: [], text: '' });
    expect(routesOf(turn)).toEqual([]);
    expect(await client.sendMessage(agentId, 'A beer, please.')).toMatchObject({ status: 'SUCCESS' });
  });
});

describe('a Route by the demo model', () => {
  it('gives the same probabilities after evictions, and with the engine in a process of its own', async () => {
    const [expected = []] = await routeAll({ slots: 4 });
    expect(expected).toHaveLength(messages.length);
    for (const options of [{ slots: 1 }, { slots: 4, engineProcess: 'child' }] as const)
      for (const seen of await routeAll(options)) {
        expect(seen.flat()).toEqual(expected.flat().map((share) => expect.closeTo(share, 2) as number));
      }
  });
});
