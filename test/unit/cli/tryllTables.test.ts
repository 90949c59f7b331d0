import { describe, expect, it } from 'vitest';
import { serverSchema } from '../../../src/server/config.ts';
import { codes } from '../../../src/protocol/frames.gen.ts';
import { modelSchema, variantSchema } from '../../../src/inference/models/catalogue/modelSchema.ts';
import { readCatalogue } from '../../../src/inference/models/catalogue/catalogue.ts';
import { defaultSampling } from '../../../src/inference/contract/samplingParams.ts';
import { registryWith } from '../../../src/graph/nodes/index.ts';
import { checkPortedGraph, tryllNames, type Counterparts } from '../../../src/cli/tryllNames.ts';
import type { ObjectSchema } from '../../../src/protocol/schema.ts';
import { textOf } from '../../helpers/docPages.ts';
import { repositoryPath } from '../../helpers/server.ts';

// docs/migrate/from-tryll.md and src/cli/tryllNames.ts say the same: here the tables of the page are compared with the code.

const text = textOf('docs/migrate/from-tryll.md');
const catalogue = await readCatalogue(repositoryPath('models.json'));
const registry = registryWith();

/** The text under a heading. */
function sectionOf(heading: string): string {
  const [, section = ''] = text.split(new RegExp(`^#{2,3} ${heading}$`, 'm'));
  const [body = ''] = section.split(/^#{2,3} /m);
  return body;
}

/** The cells of the tables under a heading, without the head of each table. */
function rowsOf(heading: string): readonly (readonly string[])[] {
  const body = sectionOf(heading);
  const rows = [...body.matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) => row.split('|').map((cell) => cell.trim()));
  return rows.filter((_, index) => !isRule(rows[index]) && !isRule(rows[index + 1]));
}
const isRule = (row: readonly string[] | undefined): boolean => row?.every((cell) => /^:?-+:?$/.test(cell)) ?? false;

/** The names in code style in a cell. */
const namesIn = (cell = ''): readonly string[] => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
const firstName = (cell = ''): string => namesIn(cell)[0] ?? '';
const sorted = (names: Iterable<string>): readonly string[] => [...new Set(names)].sort();

async function faultsOf(node: object): Promise<readonly string[]> {
  const graph = { default_model_name: 'turngraph-demo', start_node: 'a', nodes: { a: node, b: { type: 'Generate' } } };
  const { faults } = await checkPortedGraph(graph, { registry, catalogue, storageRoot: repositoryPath('graphs') });
  return faults.map(({ message }) => message);
}

const typesInPage = rowsOf('Node types').map(([number = '', old = '', here = '']) => ({
  number: Number(number),
  old: firstName(old),
  here: here.startsWith('none') ? undefined : firstName(here),
}));

const parameters = Object.keys(tryllNames.types).flatMap((old) => {
  const type = tryllNames.types[old]?.now;
  return rowsOf(old.toLowerCase() === 'sampling' ? '' : old).map((cells) => ({ old, type, cells }));
});

/** Parameters of node types that have a counterpart, one of each row of the page. */
const portedParameters = parameters.flatMap(({ old, type, cells: [name = '', , here = '', standard = ''] }) =>
  type === undefined ? [] : [{ title: `${old}.${firstName(name)}`, type, name: firstName(name), here, standard }],
);
const sameParameters = portedParameters.filter(({ name, here }) => here === `\`${name}\``);
const otherParameters = portedParameters.filter(({ name, here }) => here !== `\`${name}\``);

describe('the node types of docs/migrate/from-tryll.md', () => {
  it('are those of the table of names, in the order of their numbers', () => {
    const known = Object.entries(tryllNames.types).map(([old, { now: here }], number) => ({ number, old, here }));
    expect(typesInPage).toEqual(known);
  });

  it.each(typesInPage.filter(({ here }) => here !== undefined))(
    '$old has a counterpart that exists',
    ({ here = '' }) => {
      expect([...registry.keys()]).toContain(here);
    },
  );

  it.each(typesInPage.filter(({ old, here }) => old !== here))(
    '$old is answered with what the page says',
    async ({ old, here }) => {
      const [message] = await faultsOf({ type: old });
      expect(message).toContain(
        `; Tryll's ${old} ${here === undefined ? 'has no counterpart: ' : `is "${here}" here`}`,
      );
    },
  );
});

describe('the parameters of docs/migrate/from-tryll.md', () => {
  it('are listed for each node type', () => {
    expect(sorted(parameters.map(({ old }) => old))).toEqual(sorted(Object.keys(tryllNames.types)));
    expect(sameParameters.length).toBeGreaterThan(15);
    expect(otherParameters.length).toBeGreaterThan(25);
  });

  it.each(sameParameters)('$title exists here, with the default of the page', ({ type, name, standard }) => {
    const schema = registry.get(type)?.params.properties[name];
    expect(schema).toBeDefined();
    const required = registry.get(type)?.params.required?.includes(name) ?? false;
    const declared = schema?.default === undefined ? (required ? 'required' : 'none') : JSON.stringify(schema.default);
    expect(firstName(standard) || /^\w+/.exec(standard)?.[0]).toBe(declared);
    expect(standard.includes('fixed')).toBe(schema?.live !== true);
  });

  it.each(otherParameters)('$title is answered with what the page says', async ({ type, name, here }) => {
    const messages = await faultsOf({ type, params: { [name]: 'b' } });
    const answer = messages.find((message) => message.includes(`; Tryll's ${name} `)) ?? messages.join('; ');
    if (here.startsWith('exit ')) expect(answer).toContain(`write "exits": {"${firstName(here)}": "b"}`);
    else if (here.startsWith('none')) expect(answer).toContain(`Tryll's ${name} has no counterpart`);
    else expect(answer).toContain(namesIn(here).at(-1) ?? here.replace(/^an /, ''));
  });

  it.each(['Generate', 'HumanMessageGuardrail', 'CannedResponse', 'ToolCall', 'Retrieve', 'ClassifyIntentLLM'])(
    'are all that the counterpart of %s has',
    (old) => {
      const properties = registry.get(tryllNames.types[old]?.now ?? '')?.params.properties ?? {};
      expect(namesIn(sectionOf(old))).toEqual(expect.arrayContaining(Object.keys(properties)));
    },
  );

  it.each(rowsOf('sampling'))(
    '%s: its default is %s there and %s here, with the default %s',
    async (old, _, here, standard) => {
      const name = firstName(old) as keyof typeof defaultSampling;
      expect(firstName(here)).toBe(`sampling.${name}`);
      expect(firstName(standard)).toBe(JSON.stringify(defaultSampling[name]));
      for (const type of ['Generate', 'ToolCall'])
        expect((await faultsOf({ type, params: { [name]: '1' } })).join()).toContain(
          `write "sampling": {"${name}": ...}`,
        );
    },
  );
});

const valueRows = rowsOf('Values').flatMap(([param = '', old = '', here = '']) => {
  const [, number] = /^(\d)/.exec(old) ?? [];
  const values = [...(number === undefined ? [] : [Number(number)]), ...namesIn(old)];
  return values.map((value) => ({ param: firstName(param), value, here: JSON.parse(firstName(here)) as string }));
});
const typeWith: Readonly<Record<string, object>> = {
  placement: { type: 'Generate' },
  selection_strategy: { type: 'CannedResponse', params: { inline_strings: ['No.'] } },
  tool_call_format: { type: 'ToolCall', params: { tools: [{ name: 'wave', description: 'Waves.' }] } },
};

describe('the values of docs/migrate/from-tryll.md', () => {
  it.each(valueRows)('$param $value is $here', async ({ param, value, here }) => {
    const node = typeWith[param] as { params?: object };
    expect(await faultsOf({ ...node, params: { ...node.params, [param]: here } })).toEqual([]);
    const faults = await faultsOf({ ...node, params: { ...node.params, [param]: value } });
    if (value === here) expect(faults).toEqual([]);
    else expect(faults.join()).toContain(` is "${here}" here`);
  });
});

describe('the names of the table of names', () => {
  const keysOf = (...tables: readonly Counterparts[]): readonly string[] => sorted(tables.flatMap(Object.keys));
  const members = rowsOf('Members of the graph');
  const namesOfMembers = (of: string): readonly string[] =>
    members.filter(([owner]) => owner === of).flatMap(([, old]) => namesIn(old));

  it('are all on the page: members', () => {
    expect(namesOfMembers('the graph')).toEqual(expect.arrayContaining([...keysOf(tryllNames.graph)]));
    expect(namesOfMembers('a node')).toEqual(expect.arrayContaining([...keysOf(tryllNames.node)]));
    expect(members.filter(([, old]) => /, a list/.test(old ?? '')).map(([, old]) => firstName(old))).toEqual(
      Object.keys(tryllNames.lists),
    );
  });

  it('are all on the page: parameters', () => {
    for (const [type, params] of Object.entries(tryllNames.params)) {
      const inPage = parameters
        .filter((parameter) => parameter.type === type)
        .map(({ cells: [name] }) => firstName(name).replace(/_0$/, '_N'));
      const inSampling = rowsOf('sampling').map(([name]) => firstName(name));
      expect([...inPage, ...inSampling]).toEqual(expect.arrayContaining(Object.keys(params)));
    }
  });

  it('are all on the page: exits and values', () => {
    const exits = rowsOf('Exits').flatMap(([types, old, here]) =>
      namesIn(types).map((type) => [type, firstName(old), firstName(here) || undefined]),
    );
    const known = Object.entries(tryllNames.exits).flatMap(([type, table]) =>
      Object.entries(table).map(([old, { now: here }]) => [type, old, here]),
    );
    expect(exits).toEqual(known);
    for (const [param, values] of Object.entries(tryllNames.values)) {
      const inPage = valueRows.filter((row) => row.param === param).map(({ value, here }) => [String(value), here]);
      expect(new Map(inPage as [string, string][])).toEqual(
        new Map(Object.entries(values).map(([value, { now: here }]) => [value, here])),
      );
    }
    for (const target of Object.keys(tryllNames.targets)) expect(text).toContain(`\`${target}\``);
  });
});

describe('what docs/migrate/from-tryll.md names of turngraph', () => {
  it.each(rowsOf('Error codes').filter(([, here = '']) => /^\d/.test(here)))('%s: %s is a code here', (old, here) => {
    const number = Number.parseInt(old ?? '', 10);
    expect(codes).toMatchObject({ [firstName(here)]: number });
    expect(Number.parseInt(here ?? '', 10)).toBe(number);
  });

  it('is every message of Tryll beside one that exists', () => {
    const proto = textOf('proto/turngraph/v1/wire.proto');
    const messages = rowsOf('Messages').flatMap(([, here]) => namesIn(here));
    const unknown = messages.filter((name) => /^[A-Z][a-z]\w+$/.test(name) && !proto.includes(`message ${name} {`));
    expect(messages.length).toBeGreaterThan(50);
    expect(unknown).toEqual([]);
  });

  it('is models that the catalogue has', () => {
    const names = rowsOf('Bundled models').flatMap(([, , here]) => namesIn(here));
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !catalogue.models.has(name))).toEqual([]);
  });

  it.each(rowsOf('Model catalogue').filter((cells) => cells.length === 4 && !cells[2]?.startsWith('none')))(
    'is members of the catalogue: %s, default %s; here %s, default %s',
    (_old, _default, here, standard) => {
      const [, name = firstName(here)] = /variants\[\]\.(\w+)/.exec(here ?? '') ?? [];
      const schema: ObjectSchema = here?.includes('[]') ? variantSchema : modelSchema;
      const property = schema.properties[name];
      expect(property).toBeDefined();
      if (schema.required?.includes(name)) expect(standard).toMatch(/^required/);
      else if (property?.default === undefined) expect(standard).toBe('none');
      else if (property.type !== 'object') expect(firstName(standard)).toBe(JSON.stringify(property.default));
    },
  );

  it('is options that the server has', () => {
    const flags = Object.keys(serverSchema.properties).map(
      (name) => `--${name.replaceAll(/[A-Z]/g, '-$&').toLowerCase()}`,
    );
    const named = rowsOf('Options of the server').flatMap(([, , here]) =>
      namesIn(here).filter((name) => name.startsWith('--')),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !flags.includes(name))).toEqual([]);
  });
});
