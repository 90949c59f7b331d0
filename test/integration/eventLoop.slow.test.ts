import type { ChildProcess } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readFirstLine, startCli } from '../cli/command.ts';
import { longestDelay } from '../helpers/longestDelay.ts';
import { oneSubprotocol, repositoryPath, TestClient } from '../helpers/server.ts';

// Each attack held the event loop for the time in its comment. Alone on a machine it takes less than 100 ms now.
const maxDelayMs = 1000;

/** What a client does, and what is expected of its answer. */
type Attack = (client: TestClient) => Promise<void>;

const marks = `a${'\u0301\u0323\u0308\u031b'.repeat(30_000)}`;
const node = (type: string, params: object): object => ({ start_node: 'a', nodes: { a: { type, params } } });

const attacks: Readonly<Record<string, Attack>> = {
  // 9,800 ms.
  'a search for a letter with 120,000 marks': async (client) => {
    await client.request('createStringStorage', { name: 'marks', kind: 'LIST', strings: ['Ä door'] });
    expect(await client.request('searchStorage', { name: 'marks', query: marks })).toMatchObject({
      searchStorage: { found: false },
    });
  },
  // 8,200 ms.
  'a message with 120,000 marks for a Retrieve node': async (client) => {
    const agentId = await client.createAgent(node('Retrieve', { inline_strings: ['a door'] }));
    expect(await client.sendMessage(agentId, `${marks} door`)).toMatchObject({ steps: 'a:found' });
  },
};

describe('the event loop of a server is not held', () => {
  let child: ChildProcess;
  let port = 0;
  beforeAll(async () => {
    const script = repositoryPath('test/fixtures/emptyMockScript.json');
    const server = startCli([
      'serve',
      '--port',
      '0',
      '--json',
      '--openai',
      '--log-level',
      'error',
      '--mock-script',
      script,
    ]);
    child = server;
    ({ port } = JSON.parse(await readFirstLine(server)) as { readonly port: number });
  });
  afterAll(() => {
    child.kill('SIGTERM');
  });

  it.each(Object.entries(attacks))('by %s', { timeout: 60_000 }, async (_, attack) => {
    await using client = await TestClient.connect(`ws://127.0.0.1:${port}`, oneSubprotocol[0] ?? 'turngraph.v1.json');
    expect(await longestDelay(port, () => attack(client))).toBeLessThan(maxDelayMs);
  });
});
