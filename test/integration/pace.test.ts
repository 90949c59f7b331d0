import { describe, expect, it } from 'vitest';
import { chat } from '../helpers/graphs.ts';
import { errorOf, startTestServer, subprotocols, TestClient, useServer } from '../helpers/server.ts';

const story = { match: 'story', answer: 'once '.repeat(40), delay_ms: 1 };

const textFrames = (client: TestClient, requestId: number): number =>
  client.received.filter(({ requestId: id, body }) => id === requestId && body === 'answerText').length;

describe.each(subprotocols)('over %s', (subprotocol) => {
  const server = useServer({ script: [story] });

  it('a paused session computes nothing, and goes on later with the same text', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    await using other = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(chat());
    const otherAgent = await other.createAgent(chat());
    const running = client.send('sendMessage', { agentId, text: 'story', priority: 'URGENT' });
    await client.receive('answerText');
    expect((await client.request('setPace', { paused: true })).body).toBe('ack');
    await other.sendMessage(otherAgent, 'hello');
    const sent = textFrames(client, running);
    // A whole other turn, and then another agent of the paused session, which waits.
    const second = await client.createAgent(chat());
    const waiting = client.send('sendMessage', { agentId: second, text: 'hello', priority: 'BACKGROUND' });
    await other.sendMessage(otherAgent, 'story');
    expect(textFrames(client, running)).toBe(sent);
    expect(textFrames(client, waiting)).toBe(0);
    await client.request('setPace');
    expect(await client.turnOf(running)).toMatchObject({ status: 'SUCCESS', text: story.answer });
    expect(await client.turnOf(waiting)).toMatchObject({ status: 'SUCCESS', text: 'You said: hello' });
  });

  it('turns are cancelled, and sessions and agents end, while they are paused', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const [first, second] = [await client.createAgent(chat()), await client.createAgent(chat())];
    await client.request('setPace', { paused: true });
    const turns = [first, second].map((agentId) => client.send('sendMessage', { agentId, text: 'story' }));
    await client.request('cancelTurn', { agentId: first });
    await client.request('destroyAgent', { agentId: second });
    for (const turn of turns) expect(await client.turnOf(turn)).toMatchObject({ status: 'CANCELLED', text: '' });
  });

  it('paused time does not count for the time limit of a turn', async () => {
    await using brief = await startTestServer({ script: [story], turnTimeout: 1 });
    await using client = await TestClient.connect(brief.url, subprotocol);
    await using other = await TestClient.connect(brief.url, subprotocol);
    const agentId = await client.createAgent(chat());
    await client.request('setPace', { paused: true });
    const running = client.send('sendMessage', { agentId, text: 'hello' });
    // A turn of another session runs into the time limit meanwhile.
    await other.request('setPace', { maxTokensPerSecond: 1 });
    const slow = other.send('sendMessage', { agentId: await other.createAgent(chat()), text: 'story' });
    expect(await other.turnOf(slow)).toMatchObject({ status: 'ERROR', error: { code: 4002 } });
    await client.request('setPace');
    expect(await client.turnOf(running)).toMatchObject({ status: 'SUCCESS' });
  });

  it('a limit of tokens per second holds for a running turn until it is changed', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    await using other = await TestClient.connect(server().url, subprotocol);
    const agentId = await client.createAgent(chat());
    await client.request('setPace', { maxTokensPerSecond: 1 });
    const running = client.send('sendMessage', { agentId, text: 'story' });
    await client.receive('answerText');
    await other.sendMessage(await other.createAgent(chat()), 'story');
    expect(textFrames(client, running)).toBeLessThan(5);
    await client.request('setPace', { maxTokensPerSecond: 0 });
    expect(await client.turnOf(running)).toMatchObject({ text: story.answer });
  });

  it('the limit of a node holds for that node', async () => {
    await using client = await TestClient.connect(server().url, subprotocol);
    const slow = await client.createAgent(chat({ sampling: { max_tokens_per_second: 1 } }));
    const fast = await client.createAgent(chat());
    const running = client.send('sendMessage', { agentId: slow, text: 'story' });
    await client.receive('answerText');
    expect(await client.sendMessage(fast, 'story')).toMatchObject({ text: story.answer });
    expect(textFrames(client, running)).toBeLessThan(5);
    await client.request('cancelTurn', { agentId: slow });
    expect(await client.turnOf(running)).toMatchObject({ status: 'CANCELLED' });
  });

  it.each([
    ['sendMessage', { agentId: 1, text: 'x', priority: 'HIGH' }, 'sendMessage.priority'],
    ['setPace', { maxTokensPerSecond: -1 }, 'setPace.maxTokensPerSecond'],
    ['setPace', { maxThreads: 0.5 }, 'setPace.maxThreads'],
    ['setPace', { paused: 1 }, 'setPace.paused'],
    ['reportFrame', { ms: -1, targetMs: 16 }, 'reportFrame.ms'],
    ['reportFrame', { ms: 'long', targetMs: 16 }, 'reportFrame.ms'],
    ['reportFrame', { ms: 16 }, 'reportFrame.targetMs'],
  ])('refuses %s with %j', async (body, fields, place) => {
    await using client = await TestClient.connect(server().url, 'turngraph.v1.json');
    client.socket.send(JSON.stringify({ requestId: 77, [body]: fields }));
    const error = errorOf(await client.finalResponse(77));
    expect(error).toMatchObject({ code: 5001, message: expect.stringContaining(place) });
  });
});
