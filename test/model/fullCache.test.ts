import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isSkipped } from '../helpers/requirements.mjs';
import { startTestServer, oneSubprotocol, TestClient } from '../helpers/server.ts';
import { SmallDisk } from '../helpers/smallDisk.ts';
import type { Subprotocol } from '../../src/protocol/codec/codec.ts';

const graph = {
  default_model_name: 'turngraph-demo',
  start_node: 'say',
  nodes: { say: { type: 'Generate', params: { sampling: { temperature: 0, max_tokens: 12 } } } },
};
const names = ['Ann', 'Bob', 'Cid'];

/** Three agents that share one slot talk in turn; each eviction swaps a state out. Returns all texts. */
async function talk(subprotocol: Subprotocol, cache: string): Promise<{ texts: string[]; statesSaved: number }> {
  await using server = await startTestServer({ slots: 1, cache });
  await using client = await TestClient.connect(server.url, subprotocol, 'llama-cpp');
  const agents: number[] = [];
  for (const _ of names) agents.push(await client.createAgent(graph));
  const texts: string[] = [];
  for (const question of ['Turn on the light in the porch, please.', 'And now the one in the kitchen.', 'Thank you!']) {
    for (const [index, agentId] of agents.entries()) {
      const turn = await client.sendMessage(agentId, `I am ${names[index]}. ${question}`);
      if (turn.status !== 'SUCCESS') throw new Error(`the turn ended with ${turn.status}`);
      texts.push(turn.text);
    }
  }
  const metrics = await (await fetch(`${server.url.replace('ws:', 'http:')}/metrics`)).text();
  const saved = /^turngraph_states_saved_total\{.*turngraph-demo.*\} (\d+)$/m.exec(metrics)?.[1];
  return { texts, statesSaved: Number(saved) };
}

/** Bytes of all files in a folder. */
async function bytesIn(folder: string): Promise<number> {
  let bytes = 0;
  for (const name of await readdir(folder, { recursive: true })) {
    const stats = await stat(join(folder, name));
    if (stats.isFile()) bytes += stats.size;
  }
  return bytes;
}

describe.each(oneSubprotocol)('conversations that share a slot, over %s', (subprotocol) => {
  let folder = '';
  let expected: readonly string[] = [];
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turngraph-'));
    const { texts, statesSaved } = await talk(subprotocol, join(folder, 'cache'));
    if (!(statesSaved > 0)) throw new Error('no state was swapped out, so the tests would show nothing');
    expected = texts;
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('give the same answers when the cache folder cannot be written', async () => {
    await writeFile(join(folder, 'file'), '');
    expect(await talk(subprotocol, join(folder, 'file'))).toEqual({ texts: expected, statesSaved: 0 });
  });

  describe.skipIf(isSkipped('smallCacheDisk'))('when the disk of the cache is full', () => {
    it.each([
      ['before the first state', 128, true],
      ['within a state', 64, false],
    ])('give the same answers, and leave nothing on it: %s', async (_, kilobytes, isFilled) => {
      await using disk = await SmallDisk.mount(kilobytes);
      if (isFilled) await disk.fill();
      expect(await talk(subprotocol, disk.folder)).toEqual({ texts: expected, statesSaved: 0 });
      if (isFilled) await disk.free();
      expect(await bytesIn(join(disk.folder, 'states'))).toBe(0);
    });
  });
});
