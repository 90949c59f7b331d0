import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { casesEditorSchema } from '../../../../src/cli/graphTests/casesSchema.ts';
import { isTestFile, readCasesFile } from '../../../../src/cli/graphTests/casesFile.ts';
import { CasesFolder } from '../../../helpers/graphCases.ts';

let folder: CasesFolder;
beforeAll(async () => {
  folder = await CasesFolder.create();
  await folder.write('lamp.json', { start_node: 'guard', nodes: { guard: {}, answer: {} } });
  await folder.write('broken.json', '{,}');
  await symlink('circle', join(folder.path, 'circle'));
  await mkdir(join(folder.path, 'graphs'));
  await folder.write('graphs/porch.json', { start_node: 'answer', nodes: { answer: {} } });
});
afterAll(() => folder[Symbol.asyncDispose]());

const read = async (content: unknown, name = 'lamp.cases.json') =>
  readCasesFile(await folder.write(name, content), join(folder.path, 'graphs'));
const turn = (fields: object) => ({ graph: 'lamp.json', cases: [{ name: 'a', turns: [{ user: 'hi', ...fields }] }] });

describe('a cases file', () => {
  it('names a graph from its own folder, and has its recording beside it', async () => {
    const { graph, recording, recordingPlace, cases } = await read(turn({}));
    expect(graph.path).toBe(join(folder.path, 'lamp.json'));
    expect(recording).toBe(join(folder.path, 'lamp.mock.json'));
    expect(recordingPlace).toBeUndefined();
    expect(cases).toEqual([{ name: 'a', turns: [{ user: 'hi', variables: {}, results: [], expect: {} }] }]);
  });

  it('may name a graph of the graphs folder, and a recording', async () => {
    const { graph, recording } = await read({ ...turn({}), graph: 'porch', recording: 'other.json' });
    expect(graph.path).toBe(join(folder.path, 'graphs', 'porch.json'));
    expect(recording).toBe(join(folder.path, 'other.json'));
  });

  it('needs no special name', async () => {
    expect((await read(turn({}), 'night.json')).recording).toBe(join(folder.path, 'night.mock.json'));
  });

  it.each<readonly [string, unknown, RegExp]>([
    ['is no JSON', '{"graph": }', /lamp\.cases\.json:1:11: is not valid JSON: value expected/],
    ['has a key twice', '{"graph": "a", "graph": "b"}', /:1:16: the key "graph" occurs twice/],
    [
      'is a graph',
      { start_node: 'a', nodes: {} },
      /: is a graph; give its cases file, such as .*lamp\.cases\.cases\.json/,
    ],
    ['names no graph', { cases: [] }, /:1:1: graph is missing\n.*:1:2: cases must not be empty/],
    [
      'has a typo',
      turn({ expect: { pth: [] } }),
      /:1:\d+: cases\[0\]\.turns\[0\]\.expect\.pth is not known here; did you mean "path"\?/,
    ],
    [
      'has a typo in a text',
      turn({ expect: { text: { contain: 'a' } } }),
      /expect\.text\.contain is not known here; did you mean "contains"\?/,
    ],
    [
      'has a typo in a result',
      turn({ results: [{ tool: 'a', argument: {} }] }),
      /results\[0\]\.argument is not known here; did you mean "arguments"\?/,
    ],
    [
      'has a number for a text',
      turn({ expect: { text: 3 } }),
      /expect\.text must be a text or an object of contains, matches, not_matches, not 3/,
    ],
    [
      'expects nothing of a text',
      turn({ expect: { text: {} } }),
      /expect\.text expects nothing; give contains, matches or not_matches/,
    ],
    [
      'has a bad pattern',
      turn({ expect: { text: { matches: '(' } } }),
      /expect\.text\.matches is not a supported pattern \(RE2 syntax.*missing closing \)/,
    ],
    [
      'has a look-ahead',
      turn({ expect: { text: { not_matches: '(?=a)' } } }),
      /expect\.text\.not_matches is not a supported pattern/,
    ],
    [
      'names an unknown node',
      turn({ expect: { path: ['guard', 'anser'] } }),
      /expect\.path\[1\] names no node of the graph: "anser"; did you mean "answer"\?/,
    ],
    [
      'names an unknown node and its exit',
      turn({ expect: { path: ['gard.triggered'] } }),
      /"gard\.triggered"; did you mean "guard"\?/,
    ],
    [
      'has a result that is too long',
      turn({ results: [{ tool: 'a', content: 'x'.repeat(262_145) }] }),
      /turns\[0\]\.results\[0\]\.content has 262145 bytes/,
    ],
    [
      'has a name twice',
      {
        graph: 'lamp.json',
        cases: [
          { name: 'a', turns: [{ user: '' }] },
          { name: 'a', turns: [{ user: '' }] },
        ],
      },
      /cases\[1\]\.name is the name of cases\[0\], too/,
    ],
    [
      'names a graph that is not there',
      { ...turn({}), graph: 'lmp.json' },
      /:1:2: graph: .*lmp\.json cannot be read: there is no such file, and no such graph in the folder/,
    ],
    [
      'names no regular file as its graph',
      { ...turn({}), graph: '/dev/zero' },
      /:1:2: graph: \/dev\/zero cannot be read: it is not a regular file/,
    ],
    ['names a path that is too long', { ...turn({}), graph: 'x'.repeat(5000) }, /:1:2: graph: .*cannot be read: /],
    ['names a path with a null character', { ...turn({}), graph: 'x\u0000' }, /:1:2: graph: .*cannot be read: /],
    ['names a link in a circle', { ...turn({}), graph: 'circle' }, /:1:2: graph: .*circle cannot be read: /],
    ['names a graph without its ending', { ...turn({}), graph: 'lamp' }, /did you mean "lamp\.json"\?/],
    ['names a broken graph', { ...turn({}), graph: 'broken.json' }, /broken\.json:1:2: is not valid JSON/],
  ])('is refused when it %s', async (_, content, message) => {
    await expect(read(content)).rejects.toThrow(message);
  });
});

it.each([
  ['cases', { graph: 'a', cases: [] }, true],
  ['a recording', [{ match: 'a', answer: 'b' }], true],
  ['a graph', { start_node: 'a', nodes: {} }, false],
  ['an empty list', [], false],
  ['a list of something else', [{ answer: 'a' }, 3], false],
  ['text', 'cases', false],
])('is told from a graph by its content: %s', (_, document, expected) => {
  expect(isTestFile(document)).toBe(expected);
});

interface SchemaNode {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly items?: SchemaNode;
  readonly anyOf?: readonly SchemaNode[];
}

/** The named fields of a schema, and of all schemas in it. */
const fieldsOf = ({ properties = {}, items, anyOf = [] }: SchemaNode): readonly (readonly [string, SchemaNode])[] => [
  ...Object.entries(properties),
  ...[...Object.values(properties), ...(items ? [items] : []), ...anyOf].flatMap(fieldsOf),
];

describe('cases.schema.json', () => {
  it('describes every field, so that an editor can explain it', () => {
    const fields = fieldsOf(casesEditorSchema() as SchemaNode);
    expect(fields.map(([name]) => name)).toEqual(expect.arrayContaining(['graph', 'user', 'lifespan', 'not_matches']));
    expect(fields.flatMap(([name, { description }]) => (description === undefined ? [name] : []))).toEqual([]);
  });
});
