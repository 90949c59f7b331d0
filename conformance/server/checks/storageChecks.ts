import type { ClientFrameBodies, CodeName } from '../../../src/protocol/frames.gen.ts';
import { expectEqual } from '../../expect.ts';
import { CheckedConnection } from '../connection.ts';
import { answered, createAgent, refused, runTurn, searchStorage } from '../requests.ts';
import type { ServerCheck } from '../serverUnderTest.ts';

const storageGraph = (string_storage: string): object => ({
  start_node: 'say',
  nodes: { say: { type: 'CannedResponse', params: { string_storage, selection_strategy: 'in_turn' } } },
});

type SearchFields = ClientFrameBodies['searchStorage'];
type StorageFields = Partial<ClientFrameBodies['createStringStorage']>;

const refusals: readonly (readonly [what: string, fields: StorageFields, code: CodeName])[] = [
  ['an empty name', { name: '' }, 'INVALID_STRING_STORAGE_NAME'],
  ['a name that begins with a dot', { name: '.lines' }, 'INVALID_STRING_STORAGE_NAME'],
  ['a name of 129 characters', { name: 'x'.repeat(129) }, 'INVALID_STRING_STORAGE_NAME'],
  ['keys for a LIST', { strings: ['a'], keys: ['k'] }, 'INVALID_STRING_STORAGE_DATA'],
  ['a MAP with too few keys', { kind: 'MAP', strings: ['a', 'b'], keys: ['k'] }, 'INVALID_STRING_STORAGE_DATA'],
  ['a key twice in a MAP', { kind: 'MAP', strings: ['a', 'b'], keys: ['k', 'k'] }, 'INVALID_STRING_STORAGE_DATA'],
  ['strings and a file', { strings: ['a'], filePath: 'lines.txt' }, 'INVALID_STRING_STORAGE_DATA'],
  ['a path out of the folder', { filePath: '../lines.txt' }, 'STORAGE_OUTSIDE_ROOT'],
  ['an absolute path', { filePath: '/lines.txt' }, 'STORAGE_OUTSIDE_ROOT'],
  ['a missing file', { filePath: 'conformance-no-such-file.txt' }, 'STORAGE_FILE_NOT_FOUND'],
];

const searchRefusals: readonly (readonly [what: string, fields: Partial<SearchFields>, code: CodeName])[] = [
  ['a storage that is missing', { name: 'conformance no such storage' }, 'STORAGE_FILE_NOT_FOUND'],
  ['an unknown match', { match: 'letters' }, 'INVALID_PARAM_VALUE'],
  ['vectors and no embedding model', { match: 'vectors' }, 'INVALID_PARAM_VALUE'],
  ['too large a top_k', { topK: 1001 }, 'INVALID_PARAM_VALUE'],
  ['a filter that is no JSON', { filterJson: '{' }, 'INVALID_PARAM_VALUE'],
  ['an unknown operator', { filterJson: '{"level": {"$above": 1}}' }, 'INVALID_PARAM_VALUE'],
  ['a variable in its filter', { filterJson: '{"level": {"$variable": "level"}}' }, 'INVALID_PARAM_VALUE'],
];

const knowledge = {
  name: 'entries',
  kind: 'KNOWLEDGE',
  keys: ['ferry', 'mill', 'town'],
  strings: ['The ferry leaves at dawn.', 'The mill is haunted.', 'The town is walled.'],
  metadataJson: ['{"metadata": {"level": 1}}', '{"metadata": {"level": 5}, "keys": ["ghost"]}', '{"always": true}'],
} as const;

/** String storages. */
export const storageChecks: readonly ServerCheck[] = [
  {
    name: 'A node uses the strings of a storage: a LIST in its order, a MAP and a MULTIMAP by their keys',
    section: 'CreateStringStorageRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      for (const [kind, strings, keys, expected] of [
        ['LIST', ['b', 'a'], [], ['b', 'a', 'b']],
        ['MAP', ['b', 'a'], ['2', '1'], ['a', 'b', 'a']],
        ['MULTIMAP', ['c', 'a', 'b'], ['2', '1', '1'], ['a', 'b', 'c']],
      ] as const) {
        const name = `lines ${kind}`;
        const { createStringStorage: created } = await answered(
          connection,
          ['createStringStorage', { name, kind, strings, keys }],
          'createStringStorage',
        );
        expectEqual('entries', created.entries, strings.length, 'CreateStringStorageResponse');
        const agentId = await createAgent(connection, storageGraph(name));
        const texts: string[] = [];
        for (const _ of expected) texts.push((await runTurn(connection, agentId, 'Hello')).text);
        expectEqual(`texts of a ${kind}`, texts, expected);
      }
    },
  },
  {
    name: 'A destroyed storage frees its name, and its agents keep its strings',
    section: 'DestroyStringStorageRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      const create = (...strings: readonly string[]): Promise<unknown> =>
        answered(connection, ['createStringStorage', { name: 'lines', strings }], 'createStringStorage');
      await create('old');
      const agentId = await createAgent(connection, storageGraph('lines'));
      const again = ['createStringStorage', { name: 'lines', strings: ['new'] }] as const;
      await refused(connection, again, 'STRING_STORAGE_ALREADY_EXISTS', 'CreateStringStorageRequest');
      await answered(connection, ['destroyStringStorage', { name: 'lines' }], 'ack');
      await refused(connection, ['destroyStringStorage', { name: 'lines' }], 'INVALID_STRING_STORAGE_NAME');
      await create('new');
      expectEqual('text of the agent', (await runTurn(connection, agentId, 'Hello')).text, 'old');
      const other = await createAgent(connection, storageGraph('lines'));
      expectEqual('text of a new agent', (await runTurn(connection, other, 'Hello')).text, 'new');
    },
  },
  {
    name: 'The storages of a session are not those of another one',
    section: 'CreateStringStorageRequest',
    async run(server) {
      await using first = await CheckedConnection.open(server);
      await using second = await CheckedConnection.open(server);
      await answered(first, ['createStringStorage', { name: 'lines', strings: ['a'] }], 'createStringStorage');
      await refused(second, ['destroyStringStorage', { name: 'lines' }], 'INVALID_STRING_STORAGE_NAME');
      await answered(second, ['createStringStorage', { name: 'lines', strings: ['b'] }], 'createStringStorage');
    },
  },
  {
    name: 'A search finds entries by words and by keys, and those that every search brings, as a filter allows',
    section: 'SearchStorageRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      await answered(connection, ['createStringStorage', knowledge], 'createStringStorage');
      const search = (fields: Partial<SearchFields>) => searchStorage(connection, { name: 'entries', ...fields });
      expectEqual('a word', await search({ query: 'the ferry' }), { ids: ['ferry', 'town'], found: true });
      expectEqual('a key', await search({ query: 'a GHOST?' }), { ids: ['mill', 'town'], found: true });
      expectEqual('nothing', await search({ query: 'the' }), { ids: ['town'], found: false });
      const filterJson = '{"level": {"$gt": 1}}';
      expectEqual('a filter', await search({ query: 'the ferry', filterJson }), { ids: [], found: false });
      const both = await search({ query: 'the ferry, the mill', topK: 1 });
      expectEqual('the entries of a top_k of 1, and always', both.ids.length, 2, 'SearchStorageResponse');
    },
  },
  {
    name: 'A storage grows, its agents see it, and what it exports can be added again',
    section: 'AddKnowledgeRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      await answered(connection, ['createStringStorage', knowledge], 'createStringStorage');
      const storage = 'entries';
      const search = (query: string) => searchStorage(connection, { name: storage, query });
      const eel = {
        id: 'eel',
        text: 'Smoked eel is sold at dawn.',
        metadataJson: '{"level":3}',
        keys: [],
        always: false,
      };
      const {
        addKnowledge: { ids },
      } = await answered(connection, ['addKnowledge', { storage, entries: [{ ...eel, id: '' }, eel] }], 'addKnowledge');
      expectEqual('ids', [ids.length, ids[1]], [2, 'eel'], 'AddKnowledgeResponse');
      await answered(connection, ['removeKnowledge', { storage, ids: ids.slice(0, 1) }], 'ack');
      expectEqual('an entry that is added', await search('smoked eel'), { ids: ['eel', 'town'], found: true });
      const {
        exportStorage: { entries },
      } = await answered(connection, ['exportStorage', { storage }], 'exportStorage');
      expectEqual('the last entry', entries.at(-1), eel, 'ExportStorageResponse');
      await refused(connection, ['removeKnowledge', { storage, ids: ['eel', 'none'] }], 'INVALID_STRING_STORAGE_DATA');
      await answered(connection, ['removeKnowledge', { storage, ids: entries.map(({ id }) => id) }], 'ack');
      expectEqual('an empty storage', await search('smoked eel'), { ids: [], found: false }, 'RemoveKnowledgeRequest');
      await answered(connection, ['addKnowledge', { storage, entries }], 'addKnowledge');
      expectEqual('entries that were exported', await search('smoked eel'), { ids: ['eel', 'town'], found: true });
      const none = { ...eel, text: '' };
      await refused(connection, ['addKnowledge', { storage, entries: [none] }], 'INVALID_STRING_STORAGE_DATA');
      await refused(connection, ['exportStorage', { storage: 'none' }], 'STORAGE_FILE_NOT_FOUND');
    },
  },
  ...searchRefusals.map(([what, fields, code]): ServerCheck => ({
    name: `A search with ${what} is refused with ${code}`,
    section: 'SearchStorageRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      await answered(connection, ['createStringStorage', knowledge], 'createStringStorage');
      await refused(connection, ['searchStorage', { name: 'entries', query: 'the ferry', ...fields }], code);
    },
  })),
  ...refusals.map(([what, fields, code]): ServerCheck => ({
    name: `A string storage with ${what} is refused with ${code}`,
    section: 'CreateStringStorageRequest',
    async run(server) {
      await using connection = await CheckedConnection.open(server);
      await refused(connection, ['createStringStorage', { name: 'lines', ...fields }], code);
      await answered(connection, ['createStringStorage', { name: 'lines', strings: ['a'] }], 'createStringStorage');
    },
  })),
];
