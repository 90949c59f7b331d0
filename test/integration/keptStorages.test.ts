import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { connect } from '../../src/client/index.ts';
import { memoryFolder } from '../../src/graph/storage/memoryFolder.ts';
import { SessionStorages } from '../../src/graph/storage/sessionStorages.ts';
import { StorageRoot } from '../../src/graph/storage/storageRoot.ts';
import type { ClientFrameBodies, ServerFrame } from '../../src/protocol/frames.gen.ts';
import { errorOf, startTestServer, subprotocols, TestClient } from '../helpers/server.ts';

let memory = '';
beforeEach(async () => void (memory = await mkdtemp(join(tmpdir(), 'turngraph-'))));
afterEach(() => rm(memory, { recursive: true }));

const entry = (id: string, text: string) => ({ id, text, metadataJson: '{"act":2}', keys: [], always: false });
const goat = entry('goat', 'Oda sold the goat.');
const eel = entry('eel', 'The eel is smoked.');
const create = (
  client: TestClient,
  fields: Partial<ClientFrameBodies['createStringStorage']> = {},
): Promise<ServerFrame> =>
  client.request('createStringStorage', { name: 'facts', kind: 'KNOWLEDGE', persist: true, ...fields });
const createKept = (name: string): ClientFrameBodies['createStringStorage'] => ({
  name,
  kind: 'KNOWLEDGE',
  persist: true,
  filePath: '',
  strings: [],
  keys: [],
  metadataJson: [],
  entries: [],
});
const idsIn = async (client: TestClient): Promise<readonly string[]> => {
  const answer = await client.request('exportStorage', { storage: 'facts' });
  if (answer.body !== 'exportStorage') throw new Error(JSON.stringify(answer));
  return answer.exportStorage.entries.map(({ id }) => id);
};

describe.each(subprotocols)('a storage that is kept, over %s', (subprotocol) => {
  const open = async (url: string, memoryKey: string): Promise<TestClient> => {
    const client = new TestClient(url, subprotocol);
    await client.receive('sessionReady');
    await client.request('configureSession', { engine: 'mock', memoryKey });
    return client;
  };

  it('has its entries in later sessions and servers with its key, and in no others', async () => {
    const key = 'save 3 of Ada, e2a3c1d4';
    const logged: string[] = [];
    const log = pino({ level: 'debug' }, { write: (line) => void logged.push(line) });
    for (const round of [0, 1]) {
      await using server = await startTestServer({ memory, log });
      await using client = await open(server.url, key);
      expect(await create(client, { entries: [goat] })).toMatchObject({ createStringStorage: { entries: round + 1 } });
      expect(await idsIn(client)).toEqual(round === 0 ? ['goat'] : ['goat', 'eel']);
      await client.request('addKnowledge', { storage: 'facts', entries: [eel] });
      await using later = await open(server.url, key);
      expect(errorOf(await later.request('exportStorage', { storage: 'facts' })).code).toBe(3010);
      await create(later);
      expect(await idsIn(later)).toEqual(['goat', 'eel']);
      await using other = await open(server.url, `${key}.`);
      expect(await create(other)).toMatchObject({ createStringStorage: { entries: 0 } });
    }
    const files = (await readdir(memory)).join();
    expect([files.includes('Ada'), logged.join().includes('Ada'), logged.length > 0]).toEqual([false, false, true]);
  });

  it('is one for two sessions at a time, whose agents see what the other adds', async () => {
    await using server = await startTestServer({ memory });
    await using one = await open(server.url, 'k');
    await using two = await open(server.url, 'k');
    await create(one);
    await create(two);
    const agentId = await one.createAgent({
      start_node: 'find',
      nodes: {
        find: {
          type: 'Retrieve',
          params: { string_storage: 'facts', source: 'f' },
          exits: { found: 'say', not_found: 'say' },
        },
        say: { type: 'CannedResponse', params: { inline_strings: ['{{#knowledge_f}}{{text}}{{/knowledge_f}}'] } },
      },
    });
    await two.request('addKnowledge', { storage: 'facts', entries: [goat] });
    expect((await one.sendMessage(agentId, 'Who has the goat?')).text).toBe('Oda sold the goat.');
    await one.request('addKnowledge', { storage: 'facts', entries: [eel] });
    await one.request('destroyStringStorage', { name: 'facts' });
    await two.request('removeKnowledge', { storage: 'facts', ids: ['goat'] });
    await create(one);
    expect([await idsIn(one), await idsIn(two)]).toEqual([['eel'], ['eel']]);
  });

  it.each<[string, Partial<ClientFrameBodies['createStringStorage']>, string, string]>([
    ['without a key', {}, '', 'needs a key: give configureSession.memoryKey'],
    ['that is a list', { kind: 'LIST', strings: ['a'] }, 'k', 'is for a KNOWLEDGE without filePath'],
    ['of a file', { filePath: 'lore/pellmoor.kb.json' }, 'k', 'is for a KNOWLEDGE without filePath'],
    ['with a bad entry', { entries: [entry('a', '')] }, 'k', 'entries[0].text must be'],
    ['without a folder', {}, 'k', 'needs a folder: start the server with --memory FOLDER'],
  ])('is refused %s, and leaves no file', async (what, fields, key, message) => {
    await using server = await startTestServer(what === 'without a folder' ? {} : { memory });
    await using client = await open(server.url, key);
    expect(errorOf(await create(client, fields))).toMatchObject({
      code: 7003,
      message: expect.stringContaining(message) as string,
    });
    expect((await readdir(memory)).filter((name) => name.endsWith('.jsonl'))).toEqual([]);
    expect(await create(client, { kind: 'LIST', strings: ['a'], persist: false })).toMatchObject({
      body: 'createStringStorage',
    });
  });

  it('is refused where it is too large, and for a key that is too long', async () => {
    await using server = await startTestServer({ memory, maxMemoryBytes: 1000, maxKnowledgeEntries: 3 });
    await using client = new TestClient(server.url, subprotocol);
    await client.receive('sessionReady');
    const long = await client.request('configureSession', { engine: 'mock', memoryKey: 'k'.repeat(257) });
    expect(errorOf(long).message).toBe('configureSession.memoryKey has more than 256 characters');
    await client.request('configureSession', { engine: 'mock', memoryKey: 'k' });
    expect(errorOf(await create(client, { entries: [entry('a', 'x'.repeat(1000))] })).code).toBe(2005);
    await create(client, { entries: [goat] });
    const added = await client.request('addKnowledge', { storage: 'facts', entries: [entry('a', 'x'.repeat(1000))] });
    expect(errorOf(added)).toMatchObject({
      code: 2005,
      message: expect.stringContaining('more than 1000 bytes') as string,
    });
    const many = ['a', 'b', 'c'].map((id) => entry(id, id));
    expect(errorOf(await client.request('addKnowledge', { storage: 'facts', entries: many })).message).toContain(
      '4 entries',
    );
    expect(await idsIn(client)).toEqual(['goat']);
    const [file = ''] = (await readdir(memory)).filter((name) => name.endsWith('.jsonl'));
    expect((await readFile(join(memory, file), 'utf8')).split('\n')).toHaveLength(3);
  });
});

it('gives back an entry that is too large for an addition, which its creation took', async () => {
  const strings = ['x'.repeat(60_000)];
  for (const given of [{ strings, keys: ['long'] }, {}]) {
    await using server = await startTestServer({ memory });
    await using client = new TestClient(server.url, 'turngraph.v1.json');
    await client.receive('sessionReady');
    await client.request('configureSession', { engine: 'mock', memoryKey: 'k' });
    expect(await create(client, given)).toMatchObject({ createStringStorage: { entries: 1 } });
  }
});

describe('two sessions that share a storage', () => {
  const root = new StorageRoot(tmpdir());
  const facts = createKept('facts');
  const records = (name: string, count: number) =>
    Array.from({ length: count }, (_, index) => ({ id: `${name}${index}`, text: 'x'.repeat(900) }));

  it('may both remove entries, also one that has no room for what the other has added', async () => {
    const folder = memoryFolder(memory, 1e6);
    const sessionOf = () => new SessionStorages(root, 10, { entries: 1000, bytes: 60_000 }, { folder, key: 'k' });
    await using one = sessionOf();
    await using two = sessionOf();
    await one.create(facts);
    await two.create(facts);
    await one.create(createKept('others'));
    await one.add('others', records('other', 30));
    await two.add('facts', records('fact', 30));
    await expect(one.add('facts', records('more', 1))).rejects.toMatchObject({ name: 'LIMIT_EXCEEDED' });
    await one.remove('facts', ['fact0']);
    expect(await two.export('facts')).toHaveLength(29);
  });

  it('get nothing from one that has left: its file is not its own any more', async () => {
    const folder = memoryFolder(memory, 1e6);
    await using one = new SessionStorages(root, 10, undefined, { folder, key: 'k' });
    await one.create(facts);
    const adding = one.add('facts', records('late', 20));
    await Promise.all([
      expect(adding).rejects.toMatchObject({ name: 'INVALID_STRING_STORAGE_NAME' }),
      one.destroy('facts'),
    ]);
    expect(await readdir(memory)).toEqual([]);
  });
});

it('is refused to a second server while the first one has it open', async () => {
  await using first = await startTestServer({ memory });
  await using second = await startTestServer({ memory });
  const open = async (url: string) => {
    const client = await connect(url);
    await client.configure({ engine: 'mock', memoryKey: 'k' });
    const keep = () => client.request('createStringStorage', { name: 'facts', kind: 'KNOWLEDGE', persist: true });
    return { client, keep };
  };
  const [one, two] = [await open(first.url), await open(second.url)];
  await one.keep();
  await expect(two.keep()).rejects.toMatchObject({ name: 'STORAGE_NAME_IN_USE' });
  await one.client.request('destroyStringStorage', { name: 'facts' });
  await two.keep();
  await Promise.all([one.client.close(), two.client.close()]);
});

it('is free for another server when its session ended while it was opened', async () => {
  await using first = await startTestServer({ memory, resumeGrace: 0, maxConnectionRate: 1000 });
  const entries = Array.from({ length: 2000 }, (_, index) => entry(`${index}`, `Eel ${index} is smoked.`));
  for (let waitMs = 0; waitMs < 100; waitMs += 5) {
    await using client = new TestClient(first.url, 'turngraph.v1.json');
    await client.receive('sessionReady');
    await client.request('configureSession', { engine: 'mock', memoryKey: `${waitMs}` });
    client.send('createStringStorage', { name: 'facts', kind: 'KNOWLEDGE', persist: true, entries });
    await sleep(waitMs);
  }
  const locks = async () => (await readdir(memory)).filter((name) => name.endsWith('.lock'));
  await expect.poll(locks, { timeout: 5000 }).toEqual([]);
});

it('is free for another server once its own has shut down, also in sessions that wait to be resumed', async () => {
  await using server = await startTestServer({ memory });
  const clients = await Promise.all(Array.from({ length: 8 }, () => connect(server.url)));
  for (const [index, client] of clients.entries()) {
    await client.configure({ engine: 'mock', memoryKey: `${index}` });
    await client.request('createStringStorage', { name: 'facts', kind: 'KNOWLEDGE', persist: true });
  }
  await Promise.all(clients.map((client) => client.close()));
  await server[Symbol.asyncDispose]();
  expect(await readdir(memory)).toEqual([]);
});

it('has an option of the TypeScript client', async () => {
  await using server = await startTestServer({ memory });
  for (const count of [0, 1]) {
    await using client = await connect(server.url);
    await client.configure({ engine: 'mock', memoryKey: 'k' });
    await client.request('createStringStorage', { name: 'facts', kind: 'KNOWLEDGE', persist: true });
    expect(await client.exportStorage('facts')).toHaveLength(count);
    await client.addKnowledge('facts', [{ id: 'goat', text: 'Oda sold the goat.' }]);
  }
});
