import { beforeEach, describe, expect, it } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { codecs } from '../helpers/depth.ts';
import { chat, lamp } from '../helpers/graphs.ts';
import { useServer, TestClient, errorOf, subprotocols } from '../helpers/server.ts';
import { Gate } from '../helpers/gate.ts';
import { oneDayMs } from '../helpers/heldEngine.ts';

const slowAnswer = new Gate();
beforeEach(() => slowAnswer.close());

const server = useServer({
  script: [
    { match: 'slowly', answer: 'one two three four five six seven eight', gate: slowAnswer },
    { match: 'before a word', answer: 'late', delay_ms: oneDayMs },
  ],
});

describe.each(subprotocols)('over %s', (subprotocol) => {
  const connect = (): Promise<TestClient> => TestClient.connect(server().url, subprotocol);

  it('a busy agent rejects a second message, and its turn continues', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    const first = client.send('sendMessage', { agentId, text: 'slowly' });
    expect(errorOf(await client.request('sendMessage', { agentId, text: 'and now' }))).toMatchObject({
      code: 3004,
      name: 'AGENT_BUSY',
    });
    slowAnswer.open();
    expect(await client.turnOf(first)).toMatchObject({
      status: 'SUCCESS',
      text: 'one two three four five six seven eight',
    });
  });

  it('two agents answer at the same time', async () => {
    await using client = await connect();
    const [one, two] = [await client.createAgent(chat()), await client.createAgent(chat())];
    const slow = client.send('sendMessage', { agentId: one, text: 'slowly' });
    const quick = client.send('sendMessage', { agentId: two, text: 'quick' });
    expect(await client.turnOf(quick)).toMatchObject({ agentId: two, text: 'You said: quick' });
    expect(client.received.some(({ requestId, body }) => requestId === slow && body === 'turnComplete')).toBe(false);
    slowAnswer.open();
    expect(await client.turnOf(slow)).toMatchObject({ agentId: one, status: 'SUCCESS' });
  });

  it('a cancel ends the turn, and the next message is answered', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    const slow = client.send('sendMessage', { agentId, text: 'slowly' });
    const { turnId } = await client.receive('answerText');
    expect(await client.request('cancelTurn', { agentId, turnId })).toMatchObject({ body: 'ack' });
    const turn = await client.turnOf(slow);
    expect(turn).toMatchObject({ status: 'CANCELLED', error: null, stopReason: 'ABORTED' });
    expect('one two three four five six seven eight'.startsWith(turn.text)).toBe(true);
    expect(turn.frames.filter((frame) => frame.body === 'answerText' && frame.answerText.isFinal)).toHaveLength(1);
    expect(await client.sendMessage(agentId, 'hello')).toMatchObject({ status: 'SUCCESS', text: 'You said: hello' });
  });

  it('a cancel ends a generation before its first token', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    const pending = client.send('sendMessage', { agentId, text: 'before a word' });
    await client.request('cancelTurn', { agentId });
    expect(await client.turnOf(pending)).toMatchObject({ status: 'CANCELLED', text: '', timeToFirstTokenMs: 0 });
  });

  it('a cancel without a turn is acknowledged, and a turn with another number continues', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    expect(await client.request('cancelTurn', { agentId })).toMatchObject({ body: 'ack' });
    const slow = client.send('sendMessage', { agentId, text: 'slowly' });
    expect(await client.request('cancelTurn', { agentId, turnId: 77 })).toMatchObject({ body: 'ack' });
    slowAnswer.open();
    expect(await client.turnOf(slow)).toMatchObject({ status: 'SUCCESS' });
  });

  it('destroying an agent cancels its turn first', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat());
    const slow = client.send('sendMessage', { agentId, text: 'slowly' });
    expect(await client.request('destroyAgent', { agentId })).toMatchObject({ body: 'ack' });
    expect(await client.turnOf(slow)).toMatchObject({ status: 'CANCELLED' });
    expect(errorOf(await client.request('sendMessage', { agentId, text: 'hello' }))).toMatchObject({ code: 3002 });
    expect(errorOf(await client.request('destroyAgent', { agentId }))).toMatchObject({ code: 3002 });
  });

  it('requests take effect in the order in which they were sent', async () => {
    await using client = await connect();
    const creation = client.send('createAgent', { graphJson: JSON.stringify(chat()) });
    const message = client.send('sendMessage', { agentId: 1, text: 'hello' });
    const destruction = client.send('destroyAgent', { agentId: 1 });
    await client.waitFor(({ requestId }) => requestId === destruction);
    const frames = client.received
      .filter(({ requestId }) => requestId >= creation)
      .map(({ requestId, body }) => `${requestId - creation} ${body}`);
    // An answer arrives in as many pieces as the connection takes, one right after the other.
    expect(frames.filter((frame, index) => frame !== frames[index - 1])).toEqual([
      '0 createAgent',
      `${message - creation} answerText`,
      `${message - creation} turnComplete`,
      `${destruction - creation} ack`,
    ]);
  });

  it('frames are numbered from 1 without gaps', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(lamp());
    await client.sendMessage(agentId, 'hello');
    await client.sendMessage(agentId, 'again');
    expect(client.received.map(({ seq }) => seq)).toEqual(client.received.map((_, index) => index));
  });

  it('an endless turn ends at the limit of steps, and the agent stays usable', async () => {
    await using client = await connect();
    const cannedNode = (text: string, next: string) => ({
      type: 'CannedResponse',
      params: { inline_strings: [text] },
      exits: { default: next },
    });
    const agentId = await client.createAgent(
      { start_node: 'tick', nodes: { tick: cannedNode('tick', 'tock'), tock: cannedNode('tock', 'tick') } },
      { maxStepsPerTurn: 5 },
    );
    const turn = await client.sendMessage(agentId, 'go');
    expect(turn).toMatchObject({
      status: 'ERROR',
      error: { code: 4003, name: 'MAX_STEPS_EXCEEDED' },
      text: 'ticktockticktocktick',
    });
    expect(turn.path).toHaveLength(5);
    expect(await client.sendMessage(agentId, 'go')).toMatchObject({ status: 'ERROR', turnId: 2 });
  });

  it('a dropped connection ends its turns, and other clients are not affected', async () => {
    await using other = await connect();
    const otherAgent = await other.createAgent(chat());
    const slow = other.send('sendMessage', { agentId: otherAgent, text: 'slowly' });
    const client = await connect();
    const agentId = await client.createAgent(chat());
    client.send('sendMessage', { agentId, text: 'before a word' });
    client.socket.terminate();
    await client.closed;
    slowAnswer.open();
    expect(await other.turnOf(slow)).toMatchObject({ status: 'SUCCESS' });
    expect(await other.sendMessage(otherAgent, 'hello')).toMatchObject({ status: 'SUCCESS' });
  });

  it('a long answer is sent in frames under 60 KiB that join to the whole', async () => {
    await using client = await connect();
    const agentId = await client.createAgent(chat({ stream: false, sampling: { max_tokens: 8192 } }));
    const text = '\u0001\u0002\u0003🦊'.repeat(3_000);
    const turn = await client.sendMessage(agentId, text);
    expect(turn).toMatchObject({ status: 'SUCCESS', error: null });
    expect(turn.text === `You said: ${text}`).toBe(true);
    const textFrames = turn.frames.filter(({ body }) => body === 'answerText');
    expect(textFrames.length).toBeGreaterThan(2);
    for (const frame of textFrames) expect(JSON.stringify(frame).length).toBeLessThan(60 * 1024);
  });
});

describe.each(codecs)('the client of the package, over %s', (codec) => {
  it.each(['by hand', 'by signal'])(
    'does not cancel the running turn when a rejected message is cancelled %s',
    async (how) => {
      await using client = await connect(server().url, { codec });
      await client.configure({ engine: 'mock' });
      const agent = await client.createAgent({ graph: chat() });
      const aborter = new AbortController();
      const first = agent.send('slowly');
      const second = agent.send('and now', { signal: aborter.signal });
      if (how === 'by hand') second.cancel();
      else aborter.abort();
      await expect(second.done).rejects.toMatchObject({ name: 'AGENT_BUSY' });
      // A cancelTurn that the client had sent would take effect before this is answered.
      await client.listModels();
      slowAnswer.open();
      expect(await first.done).toMatchObject({
        status: 'SUCCESS',
        text: 'one two three four five six seven eight',
      });
    },
  );
});
