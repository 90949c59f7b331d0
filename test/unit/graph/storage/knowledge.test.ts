import { describe, expect, it } from 'vitest';
import { Fault } from '../../../../src/protocol/fault.ts';
import { readKnowledgeFile } from '../../../../src/graph/storage/knowledge/knowledgeFile.ts';

const read = (files: string | Readonly<Record<string, string>>, maxEntries = 100) =>
  readKnowledgeFile(
    'lore/a.kb.json',
    (path) => {
      const text = typeof files === 'string' ? files : files[path];
      if (text === undefined) throw new Error(`no file ${path}`);
      return Promise.resolve(Buffer.from(text));
    },
    maxEntries,
  );

const faultOf = async (text: string, maxEntries?: number): Promise<readonly [string, string]> => {
  const error = await read(text, maxEntries).catch((thrown: unknown) => thrown);
  if (!(error instanceof Fault)) throw new Error(`not refused: ${JSON.stringify(error)}`);
  return [error.name, error.message];
};

const ferry = { id: 'ferry', text: 'The ferry leaves at dawn.', metadata: {}, keys: [], always: false };

describe('a knowledge file', () => {
  it('may be a list of records', async () => {
    const full = {
      id: 'inn',
      text: 'The inn, {"x"} \\ "y".',
      metadata: { level: 2, tags: ['a'] },
      keys: ['bed'],
      always: true,
    };
    expect(await read(`\ufeff ${JSON.stringify([{ id: ferry.id, text: ferry.text }, full], null, 2)}\n`)).toMatchObject(
      {
        entries: [ferry, full],
        fields: undefined,
        embeddingModel: undefined,
      },
    );
  });

  it('may have null for what is absent', async () => {
    const records = [{ ...ferry, metadata: null, keys: null, always: null }];
    expect((await read(JSON.stringify(records))).entries).toEqual([ferry]);
  });

  it('may be an object whose fields come after the records, with defaults', async () => {
    const records = [
      { id: 'a', text: 'A', metadata: { level: 7 } },
      { id: 'b', text: 'B' },
    ];
    const fields = [
      { name: 'level', type: 'int', default: 1 },
      { name: 'tags', type: 'set<string>' },
    ];
    const { entries, ...rest } = await read(JSON.stringify({ records, fields, embedding_model: 'small' }));
    expect(entries.map(({ metadata }) => metadata)).toEqual([{ level: 7 }, { level: 1 }]);
    expect(rest).toMatchObject({ fields, embeddingModel: 'small' });
  });

  it('may have its records in a file beside it, which its fields hold for', async () => {
    const header = JSON.stringify({
      records_file: 'b.json',
      fields: [{ name: 'secret', type: 'bool', default: false }],
    });
    const files = { 'lore/a.kb.json': header, 'lore/b.json': '[{"id": "a", "text": "A"}]' };
    expect((await read(files)).entries).toMatchObject([{ id: 'a', metadata: { secret: false } }]);
    await expect(
      read({ ...files, 'lore/b.json': '[\n{"id": "a", "text": "A", "metadata": {"secret": 1}}]' }),
    ).rejects.toThrow('lore/b.json, 2:39: [0].metadata.secret must be true or false');
    await expect(read({ 'lore/a.kb.json': '{"records_file": "a.kb.json"}' })).rejects.toThrow(
      'lore/a.kb.json must be a list of records: it is the records_file of lore/a.kb.json',
    );
  });

  it.each([
    ['an object', (entries: readonly object[]) => Object.fromEntries(entries.map((entry, index) => [index, entry]))],
    ['a list', (entries: readonly object[]) => entries],
  ])('may be a lorebook with %s of entries', async (_, listed) => {
    const entries = [
      { uid: 4, key: ['boat', ' '], content: 'The ferry.', constant: false, comment: 'Harbour', depth: { a: [1] } },
      { key: [], content: 'Always.', constant: true, disable: false },
      { uid: 6, key: ['x'], content: 'Left out.', disable: true },
      { uid: 7, key: ['x'], content: '' },
    ];
    expect(
      (await read(JSON.stringify({ name: 'A book', entries: listed(entries), extensions: {} }))).entries,
    ).toMatchObject([
      { id: '4', text: 'The ferry.', metadata: { comment: 'Harbour' }, keys: ['boat'], always: false },
      { id: '1', text: 'Always.', metadata: {}, keys: [], always: true },
    ]);
  });

  it('may be the book of a character card, whose members have other names', async () => {
    const entries = [
      { id: 4, keys: ['boat'], content: 'The ferry.', enabled: true, name: 'Harbour', insertion_order: 100 },
      { id: 5, keys: ['crypt'], content: 'Left out.', enabled: false },
      { keys: [], content: 'Always.', enabled: true, constant: true },
    ];
    expect((await read(JSON.stringify({ name: 'A book', entries }))).entries).toMatchObject([
      { id: '4', text: 'The ferry.', metadata: { comment: 'Harbour' }, keys: ['boat'], always: false },
      { id: '2', text: 'Always.', metadata: {}, keys: [], always: true },
    ]);
  });

  it.each<[string, string, string]>([
    ['a text', '"x"', '1:1: it must be a JSON array or a JSON object'],
    ['nothing', '', '1:1: it must be a JSON array or a JSON object'],
    ['another object', '{}', 'a.kb.json must have "records", "records_file", or, as a lorebook, "entries"'],
    ['an unknown member', '{"record": []}', '1:12: record is not known here; did you mean "records"?'],
    ['records that are a number', '{"records": 1}', '1:13: records must be a list'],
    ['two lists of records', '{"records": [], "records": []}', '1:28: records is there twice; remove one'],
    ['records twice', '{"records": [], "records_file": "x"}', 'records_file excludes records'],
    ['records beside entries', '{"records": [], "entries": []}', 'records is not known here next to "entries"'],
    ['a trailing comma', '[\n{"id": "a", "text": "A"},\n]', '2:25: it is not valid JSON: a trailing comma'],
    ['no comma', '[{"id": "a", "text": "A"} {}]', '1:27: it is not valid JSON: a comma or ] is expected'],
    ['no end', '[{"id": "a"', '1:12: it is not valid JSON: the end of an object or a list is expected'],
    ['a string without an end', '[{"id": "a\\"', '1:9: it is not valid JSON: this string has no end'],
    ['two documents', '[] []', '1:4: it is not valid JSON: the end of the file is expected'],
    ['a number beyond a double', '[\n  {"id": 1e999}]', 'a.kb.json is not valid JSON at 2:10: a number beyond 1.8e308'],
    ['a record that is no JSON', '[\n  {"id": a}]', 'a.kb.json is not valid JSON at 2:10:'],
    ['a name twice', '[{"id": "a", "text": "A",\n "text": "B"}]', '2:2: the name "text" is there twice in one object'],
    ['a null', '[null]', '1:2: [0] must be an object'],
    ['no text', '[{"id": "é"}, {"id": "a"}]', '[0].text is missing'],
    ['an id that is a number', '[{"id": 1, "text": "A"}]', '1:3: [0].id must be a string of 1 to 256 characters'],
    ['an empty text', '[{"id": "a", "text": " "}]', '1:14: [0].text must be a string that is not empty'],
    [
      'an id twice',
      '[{"id": "a", "text": "A"},\n{"id": "a", "text": "B"}]',
      '2:2: [1].id is "a", as that of an earlier entry',
    ],
    ['a misspelt member', '[{"id": "a", "text": "A", "key": []}]', '[0].key is not known here; did you mean "keys"?'],
    ['keys that are a text', '[{"id": "a", "text": "A", "keys": "x"}]', '[0].keys must be a list of strings'],
    ['always that is a text', '[{"id": "a", "text": "A", "always": "x"}]', '[0].always must be true or false'],
    ['metadata that is a list', '[{"id": "a", "text": "A", "metadata": []}]', '[0].metadata must be an object'],
    [
      'a null in the metadata',
      '[{"id": "a", "text": "A", "metadata": {"b": null}}]',
      '[0].metadata.b must be a string,',
    ],
    [
      'an object in the metadata',
      '[{"id": "a", "text": "A", "metadata": {"b": {}}}]',
      '[0].metadata.b must be a string,',
    ],
    [
      'a prototype key',
      '[{"id": "a", "text": "A", "metadata": {"__proto__": "x"}}]',
      '__proto__ cannot be the name of a field',
    ],
    ['a prototype as a member', '[{"__proto__": {}, "id": "a", "text": "A"}]', '[0].__proto__ is not known here'],
    [
      'a field without a type',
      '{"fields": [{"name": "a"}], "records": []}',
      'fields[0].type must be one of int, float',
    ],
    [
      'a default of another type',
      '{"fields": [{"name": "a", "type": "int", "default": 1.5}], "records": []}',
      'fields[0].default must be an integer',
    ],
    [
      'a field twice',
      '{"fields": [{"name": "a", "type": "int"}, {"name": "a", "type": "int"}], "records": []}',
      'fields[1].name is "a", as that of another field',
    ],
    [
      'a field that is not declared',
      '{"fields": [{"name": "level", "type": "int"}], "records": [{"id": "a", "text": "A", "metadata": {"levl": 1}}]}',
      'records[0].metadata.levl is not among the fields; did you mean "level"?',
    ],
    [
      'a value of another type',
      '{"fields": [{"name": "level", "type": "int"}], "records": [{"id": "a", "text": "A", "metadata": {"level": "1"}}]}',
      'records[0].metadata.level must be an integer',
    ],
    ['deep nesting', `[${'['.repeat(100_000)}`, 'it is nested too deeply: 64 levels are allowed'],
    [
      'a large entry',
      `[{"id": "a", "text": "${'x'.repeat(1_100_000)}"}]`,
      'it is too large: one value has more than 1048576 bytes',
    ],
    ['white space only', ' '.repeat(1_100_000), 'it has more than 1048576 bytes of white space'],
  ])('with %s is refused at its place', async (_, text, message) => {
    expect(await faultOf(text)).toEqual(['INVALID_STRING_STORAGE_DATA', expect.stringContaining(message)]);
  });

  it('has so many entries', async () => {
    const records = (count: number): string =>
      JSON.stringify(Array.from({ length: count }, (_, id) => ({ id: `e${id}`, text: 'A' })));
    expect((await read(records(100))).entries).toHaveLength(100);
    expect(await faultOf(records(101))).toEqual(['LIMIT_EXCEEDED', expect.stringContaining('more than 100 entries')]);
  });

  it.each([
    ['Latin-1', Buffer.from('[{"id": "a", "text": "\xe9"}]', 'latin1')],
    ['UTF-16', Buffer.from('\ufeff[{"id": "a", "text": "A"}]', 'utf16le')],
    ['UTF-16, the other way round', Buffer.from('\ufeff[{"id": "a", "text": "A"}]', 'utf16le').swap16()],
  ])('that is not UTF-8 is refused: %s', async (_, bytes) => {
    await expect(readKnowledgeFile('a.kb.json', () => Promise.resolve(bytes), 9)).rejects.toThrow('it is not UTF-8');
  });
});
