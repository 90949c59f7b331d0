import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { connect, Fault, type ConnectOptions } from '../../src/client/index.ts';
import { codecs } from '../helpers/depth.ts';
import { findFaults, MaliciousServers, type Outcome, type Step } from '../helpers/maliciousServer.ts';

const limitMs = 6000;
const options: ConnectOptions = {
  timeoutMs: limitMs,
  limits: { requestTimeoutMs: limitMs, idleTimeoutMs: limitMs, maxAnswerBytes: 2 ** 20 },
  reconnect: { firstDelayMs: 10, maxDelayMs: 20, timeLimitMs: limitMs, attemptTimeoutMs: limitMs },
};

const settings = {
  connect: 'timeoutMs',
  frame: 'maxFrameBytes',
  request: 'requestTimeoutMs',
  idle: 'idleTimeoutMs',
  answer: 'maxAnswerBytes',
  pages: 'page',
  reconnect: 'connections before it',
};

/** Uses all of a client. @returns the step that failed, or `done`. */
async function visit(url: string, way: number, codec: 'proto' | 'json'): Promise<Outcome> {
  let step: Step = 'connect';
  const begin = (next: Step): void => void (step = next);
  try {
    await using client = await connect(url, { ...options, codec });
    begin('agent');
    const agent = await client.createAgent({ graphName: 'chat' });
    begin('turn');
    await agent.send('hello');
    begin('models');
    await client.listModels();
    begin('export');
    await agent.exportDialog();
    begin('search');
    await client.searchStorage({ name: 'lore', query: 'fox' });
    begin('load');
    await client.loadModel('m');
    begin('cancel');
    await client.request('cancelTurn', { agentId: agent.id });
    begin('destroy');
    await agent.destroy();
    await client.close();
    return { way, step: 'done' };
  } catch (thrown) {
    const message = thrown instanceof Fault ? `${thrown.code} ${thrown.message}` : `UNEXPECTED ${String(thrown)}`;
    return { way, step, message };
  }
}

describe.each(codecs)('the TypeScript client over %s, with a malicious server', (codec) => {
  it('ends each visit with a Fault that names what happened and the limit', async () => {
    await using servers = await MaliciousServers.start();
    const outcomes: Outcome[] = [];
    const visits = servers.urls.map(async (url, way) => void outcomes.push(await visit(url, way, codec)));
    await Promise.race([Promise.all(visits), wait(60_000)]);
    expect(findFaults(outcomes, settings)).toEqual([]);
  });
});
