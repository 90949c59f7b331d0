import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { ClientFrameBodies } from '../../src/protocol/frames.gen.ts';
import { chat, guarded } from '../helpers/graphs.ts';
import { errorOf, oneSubprotocol, TestClient, useServer } from '../helpers/server.ts';

const text = 'x'.repeat(262_144);
const bound = '67108864 are allowed; clear a dialog, or destroy an agent or a storage';
const bigGraph = (characters = 900_000) => ({
  start_node: 'say',
  nodes: { say: { type: 'Generate', params: { system_prompt: 'x'.repeat(characters) } } },
});

const server = useServer();

/** Sends a request until it is refused. @returns how often it was not. */
async function fill(request: (index: number) => Promise<unknown>, message: string): Promise<number> {
  for (let count = 0; ; count++) {
    const answer = (await request(count)) as Awaited<ReturnType<TestClient['request']>>;
    if (answer.body !== 'error') continue;
    expect(answer.error).toMatchObject({ code: 2005, message: expect.stringContaining(message) as unknown });
    return count;
  }
}

describe.each(oneSubprotocol)('over %s, a session', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);
  const storage = (name: string): Partial<ClientFrameBodies['createStringStorage']> => ({
    name,
    kind: 'LIST',
    strings: [text, text, text],
  });

  // A session whose storages take most of its memory.
  let client: TestClient;
  const ids: number[] = [];
  beforeAll(async () => {
    client = await connect();
    for (let index = 0; index < 70; index++) await client.request('createStringStorage', storage(`s${index}`));
  });
  afterEach(async () => {
    for (const agentId of ids.splice(0)) await client.request('destroyAgent', { agentId });
  });
  afterAll(() => client[Symbol.asyncDispose]());

  const createAgent = async (fields: Partial<ClientFrameBodies['createAgent']>): Promise<unknown> => {
    const answer = await client.request('createAgent', fields);
    if (answer.body === 'createAgent') ids.push(answer.createAgent.agentId);
    return answer;
  };

  it('keeps dialogs of 64 MiB, and more once one is cleared', async () => {
    const [one, other] = [await client.createAgent(chat()), await client.createAgent(chat())];
    const small = await client.createAgent(chat());
    ids.push(one);
    await client.request('appendDialog', { agentId: small, user: 'x'.repeat(4000) });
    const append = (agentId: number) => client.request('appendDialog', { agentId, user: text, assistant: text });
    for (let count = 0; count < 4; count++) await append(one);
    expect(await fill(() => append(other), `with the dialog of agent ${other} the dialogs, graphs`)).toBe(18);
    await fill(() => client.request('appendDialog', { agentId: other, user: text.slice(0, 50_000) }), bound);
    // However little was left: there is room for a short turn now.
    await client.request('destroyAgent', { agentId: small });
    const refused = errorOf(await client.request('sendMessage', { agentId: other, text }));
    expect(refused).toMatchObject({ code: 2005, message: expect.stringContaining(bound) as unknown });
    expect(errorOf(await client.request('appendText', { agentId: other, text })).message).toContain(bound);
    expect(await client.sendMessage(other, 'hello')).toMatchObject({ text: 'You said: hello' });
    await client.request('clearDialog', { agentId: one });
    expect(await fill(() => append(other), bound)).toBe(4);
    await client.request('destroyAgent', { agentId: other });
    expect(await fill(() => append(one), bound)).toBe(22);
  });

  it('keeps storages of 64 MiB, also without texts, until no agent uses them', async () => {
    await using client = await connect();
    const create = (index: number) => client.request('createStringStorage', storage(`s${index}`));
    expect(await fill(create, 'with "s85" the dialogs, graphs, patterns and storages of this session have')).toBe(85);
    const refused = errorOf(await client.request('createAgent', { graphJson: JSON.stringify(bigGraph()) }));
    expect(refused).toMatchObject({ code: 2005, message: expect.stringContaining(bound) as unknown });
    const useOf = (string_storage: string) => ({
      start_node: 'find',
      nodes: { find: { type: 'Retrieve', params: { string_storage } } },
    });
    const agentId = await client.createAgent(useOf('s0'));
    await client.request('destroyStringStorage', { name: 's0' });
    expect(errorOf(await create(100)).code).toBe(2005);
    const params = { agentId, nodeName: 'find', paramsJson: '{"string_storage": "s1"}' };
    expect(await client.request('changeParams', params)).toMatchObject({ body: 'ack' });
    expect(await create(100)).toMatchObject({ createStringStorage: { entries: 3 } });
    await client.request('destroyStringStorage', { name: 's1' });
    expect(errorOf(await create(101)).code).toBe(2005);
    await client.request('destroyAgent', { agentId });
    expect(await create(101)).toMatchObject({ createStringStorage: { entries: 3 } });
    await client.request('destroyStringStorage', { name: 's2' });
    const empty = (index: number) =>
      client.request('createStringStorage', { name: `e${index}`, kind: 'LIST', strings: Array(5000).fill('') });
    expect(await fill(empty, bound)).toBeLessThan(3);
  });

  it('keeps agents whose clients brought tools of 64 MiB', async () => {
    const params = { tools: ['ring_bell'] };
    const graphJson = JSON.stringify({ start_node: 'act', nodes: { act: { type: 'ToolCall', params } } });
    const toolsJson = JSON.stringify([{ name: 'ring_bell', description: 'x'.repeat(900_000) }]);
    expect(await fill(() => createAgent({ graphJson, toolsJson }), bound)).toBe(13);
  });

  it('keeps agents with graphs of 64 MiB, and more once some are destroyed or change', async () => {
    const create = () => createAgent({ graphJson: JSON.stringify(bigGraph()) });
    expect(await fill(create, bound)).toBe(13);
    await client.request('destroyAgent', { agentId: ids[0] ?? 0 });
    expect(await fill(create, bound)).toBe(1);
    const change = (agentId: number, system_prompt: string) =>
      client.request('changeParams', { agentId, nodeName: 'say', paramsJson: JSON.stringify({ system_prompt }) });
    expect(errorOf(await change(ids[1] ?? 0, 'y'.repeat(950_000))).code).toBe(2005);
    for (const agentId of ids.slice(1, 4)) expect(await change(agentId, '')).toMatchObject({ body: 'ack' });
    expect(await client.sendMessage(ids[1] ?? 0, 'hello')).toMatchObject({ status: 'SUCCESS' });
  });

  it('compiles patterns of 64 MiB, and those of a shared storage once', async () => {
    await using client = await connect();
    const patterns = (count: number) => Array.from({ length: count }, (_, index) => `w${index}.{900}`);
    await client.request('createStringStorage', { name: 'shared', kind: 'LIST', strings: patterns(250) });
    const shared = { start_node: 'g', nodes: { g: { type: 'Guardrail', params: { string_storage: 'shared' } } } };
    for (let count = 0; count < 5; count++) await client.createAgent(shared);
    const graphJson = JSON.stringify(guarded(patterns(250)));
    const create = () => client.request('createAgent', { graphJson });
    const message = 'with what guard compiles the dialogs, graphs, patterns and storages of this session have';
    expect(await fill(create, message)).toBe(3);
    await client.request('destroyAgent', { agentId: 6 });
    expect(await fill(create, message)).toBe(1);
  });

  it('ends a turn whose lines fill it, and goes on', async () => {
    const say = { type: 'CannedResponse', params: { inline_strings: [text] }, exits: { default: 'say' } };
    const agentId = await client.createAgent({ start_node: 'say', nodes: { say } }, { maxStepsPerTurn: 4096 });
    ids.push(agentId);
    const turn = await client.sendMessage(agentId, 'hello');
    expect(turn).toMatchObject({
      status: 'ERROR',
      error: { code: 2005, message: expect.stringContaining(bound) as unknown },
    });
    await client.request('clearDialog', { agentId });
    expect(await client.sendMessage(await client.createAgent(chat()), 'hello')).toMatchObject({ status: 'SUCCESS' });
  });
});
