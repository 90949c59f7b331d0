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

// docs/migrate/from-tryll.md and src/cli/tryllNames.ts say the same: here the lists of the page are compared with the code.

const text = textOf('docs/migrate/from-tryll.md');
const catalogue = await readCatalogue(repositoryPath('models.json'));
const registry = registryWith();

/** The text under a heading. */
function sectionOf(heading: string): string {
  const [, section = ''] = text.split(new RegExp(`^#{2,3} ${heading}$`, 'm'));
  const [body = ''] = section.split(/^#{2,3} /m);
  return body;
}

/** The lines under a heading: a paragraph or an item of a list is one line. */
const linesOf = (heading: string): readonly string[] =>
  sectionOf(heading)
    .replaceAll(/\n +/g, ' ')
    .split(/\n\n|\n(?=- |\d+\. )/)
    .map((line) => line.replaceAll('\n', ' ').trim());

/** An item of a list: what Tryll has before the colon, what is here after it. */
interface Item {
  readonly old: string;
  readonly here: string;
}

const itemsIn = (lines: readonly string[]): readonly Item[] =>
  lines.flatMap((line) => {
    const [, old, here] = /^(?:-|\d+\.) (.*?): (.+)$/.exec(line) ?? [];
    return old === undefined || here === undefined ? [] : [{ old, here }];
  });
const itemsOf = (heading: string): readonly Item[] => itemsIn(linesOf(heading));

/** The names that a section says are the same in both. */
const sameIn = (heading: string): readonly string[] =>
  linesOf(heading).flatMap((line) => namesIn(/\bSame: ([^.]*)\./.exec(line)?.[1]));

/** The names in code style in a text. */
const namesIn = (words = ''): readonly string[] => [...words.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
const firstName = (words = ''): string => namesIn(words)[0] ?? '';
const sorted = (names: Iterable<string>): readonly string[] => [...new Set(names)].sort();

async function faultsOf(node: object): Promise<readonly string[]> {
  const graph = { default_model_name: 'turngraph-demo', start_node: 'a', nodes: { a: node, b: { type: 'Generate' } } };
  const { faults } = await checkPortedGraph(graph, { registry, catalogue, storageRoot: repositoryPath('graphs') });
  return faults.map(({ message }) => message);
}

const typesInPage = itemsOf('Node types').map(({ old, here }) => ({
  old: firstName(old),
  here: here.startsWith('none') ? undefined : firstName(here),
}));

/** The parameters of a node type of Tryll: one for each name of an item; here of those that are the same is their name. */
const parameters = Object.entries(tryllNames.types).flatMap(([old, { now: type }]) => [
  ...sameIn(old).map((name) => ({ old, type, name, here: `\`${name}\`` })),
  ...itemsOf(old).flatMap((item) => namesIn(item.old).map((name) => ({ old, type, name, here: item.here }))),
]);

/** Parameters of node types that have a counterpart. */
const portedParameters = parameters.flatMap(({ old, type, name, here }) =>
  type === undefined ? [] : [{ title: `${old}.${name}`, type, name, here }],
);
const isSame = ({ name, here }: { readonly name: string; readonly here: string }): boolean =>
  here === `\`${name}\`` || here.startsWith('default ');
const sameParameters = portedParameters.filter(isSame);
const otherParameters = portedParameters.filter((parameter) => !isSame(parameter));

describe('the node types of docs/migrate/from-tryll.md', () => {
  it('are those of the table of names, in the order of their numbers', () => {
    const known = Object.entries(tryllNames.types).map(([old, { now: here }]) => ({ old, here }));
    expect(typesInPage).toEqual(known);
    expect(sectionOf('Node types').match(/^\d+(?=\. )/gm)).toEqual(known.map((_, number) => String(number)));
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

  it.each(sameParameters)('$title exists here, with the default that the page names', ({ type, name, here }) => {
    const schema = registry.get(type)?.params.properties[name];
    expect(schema).toBeDefined();
    if (here.startsWith('default ')) expect(firstName(here)).toBe(JSON.stringify(schema?.default));
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

  it('have the same defaults of the sampling parameters, and are members of "sampling"', async () => {
    const shown = Object.fromEntries(
      [...sectionOf('sampling').matchAll(/`(\w+)` ([\d.]*\d)/g)].map(([, name = '', value]) => [name, Number(value)]),
    );
    expect(sorted(Object.keys(shown))).toEqual(sorted(Object.keys(tryllNames.params['ToolCall'] ?? {})));
    expect(defaultSampling).toMatchObject(shown);
    for (const name of Object.keys(shown)) {
      for (const type of ['Generate', 'ToolCall'])
        expect((await faultsOf({ type, params: { [name]: '1' } })).join()).toContain(
          `write "sampling": {"${name}": ...}`,
        );
    }
  });
});

const valueRows = itemsOf('Values').flatMap(({ old, here: pairs }) =>
  pairs.split(', ').flatMap((pair) => {
    const names = namesIn(pair);
    const values = [Number.parseInt(pair, 10), ...names.slice(0, -1)];
    return values.map((value) => ({ param: firstName(old), value, here: JSON.parse(names.at(-1) ?? '') as string }));
  }),
);
const typeWith: Readonly<Record<string, object>> = {
  placement: { type: 'Generate' },
  selection_strategy: { type: 'CannedResponse', params: { inline_strings: ['No.'] } },
};

describe('the values of docs/migrate/from-tryll.md', () => {
  it.each(valueRows)('$param $value is $here', async ({ param, value, here }) => {
    const node = typeWith[param] as { params?: object };
    expect(await faultsOf({ ...node, params: { ...node.params, [param]: here } })).toEqual([]);
    const faults = await faultsOf({ ...node, params: { ...node.params, [param]: value } });
    expect(faults.join()).toContain(` is "${here}" here`);
  });
});

describe('the names of the table of names', () => {
  const keysOf = (...tables: readonly Counterparts[]): readonly string[] => sorted(tables.flatMap(Object.keys));
  const lines = linesOf('Members of the graph');
  const ofNode = lines.indexOf('Of a node:');
  const [ofGraph, ofNodes] = [itemsIn(lines.slice(0, ofNode)), itemsIn(lines.slice(ofNode))];
  const namesOf = (items: readonly Item[]): readonly string[] => items.flatMap(({ old }) => namesIn(old));

  it('are all on the page: members', () => {
    expect(ofNode).toBeGreaterThan(0);
    expect(namesOf(ofGraph)).toEqual(expect.arrayContaining([...keysOf(tryllNames.graph)]));
    expect(namesOf(ofNodes)).toEqual(expect.arrayContaining([...keysOf(tryllNames.node)]));
    const lists = [...ofGraph, ...ofNodes].filter(({ old }) => old.includes(', a list'));
    expect(namesOf(lists)).toEqual(Object.keys(tryllNames.lists));
  });

  it('are all on the page: parameters', () => {
    for (const [type, params] of Object.entries(tryllNames.params)) {
      const inPage = parameters
        .filter((parameter) => parameter.type === type)
        .map(({ name }) => name.replace(/_0$/, '_N'));
      const inSampling = namesIn(sectionOf('sampling'));
      expect([...inPage, ...inSampling]).toEqual(expect.arrayContaining(Object.keys(params)));
    }
  });

  it('are all on the page: exits and values', () => {
    const exits = portedParameters
      .filter(({ name }) => name.endsWith('_exit'))
      .map(({ type, name, here }) => [type, name.slice(0, -'_exit'.length), firstName(here) || undefined]);
    const known = Object.entries(tryllNames.exits).flatMap(([type, table]) =>
      Object.entries(table).map(([old, { now: here }]) => [type, old, here]),
    );
    const asText = (list: readonly unknown[]): readonly string[] => sorted(list.map((entry) => JSON.stringify(entry)));
    expect(asText(exits)).toEqual(asText(known));
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
  it('is error codes that exist here, by their numbers', () => {
    const [same = ''] = sectionOf('Error codes').split(' have the same number');
    const numbers = [...same.matchAll(/(\d{4})(?:–(\d{4}))?/g)].flatMap(([, first, last = first]) => {
      const from = Number(first);
      return Array.from({ length: Number(last) - from + 1 }, (_, index) => from + index);
    });
    expect(numbers.length).toBeGreaterThan(25);
    expect(numbers.filter((number) => !Object.values<number>(codes).includes(number))).toEqual([]);
  });

  it('is every message of Tryll beside one that exists', () => {
    const proto = textOf('proto/turngraph/v1/wire.proto');
    const onlyHere = linesOf('Messages').filter((line) => line.startsWith('Only here: '));
    const messages = [
      ...sameIn('Messages'),
      ...itemsOf('Messages').flatMap(({ here }) => namesIn(here)),
      ...onlyHere.flatMap((line) => namesIn(line)),
    ].filter((name) => /^[A-Z][a-z]\w+$/.test(name));
    expect(messages.length).toBeGreaterThan(25);
    expect(messages.filter((name) => !proto.includes(`message ${name} {`))).toEqual([]);
  });

  it('is models that the catalogue has', () => {
    const names = namesIn(sectionOf('Bundled models'));
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !catalogue.models.has(name))).toEqual([]);
  });

  it('is members of the catalogue, with the defaults that the page names', () => {
    const properties: ObjectSchema['properties'] = { ...variantSchema.properties, ...modelSchema.properties };
    const items = itemsOf('Model catalogue').filter(({ here }) => !here.startsWith('none'));
    const same = sameIn('Model catalogue');
    expect([...same, ...items].length).toBeGreaterThan(10);
    expect(same.filter((name) => !Object.hasOwn(properties, name))).toEqual([]);
    for (const { old, here } of items) {
      const hasDefault = here.startsWith('default ');
      const property = properties[firstName(hasDefault ? old : here)];
      expect(property, old).toBeDefined();
      if (hasDefault) expect(firstName(here)).toBe(JSON.stringify(property?.default));
    }
  });

  it('is options that the server has', () => {
    const flags = Object.keys(serverSchema.properties).map(
      (name) => `--${name.replaceAll(/[A-Z]/g, '-$&').toLowerCase()}`,
    );
    const named = itemsOf('Options of the server').flatMap(({ here }) =>
      namesIn(here).filter((name) => name.startsWith('--')),
    );
    expect(named.length).toBeGreaterThan(5);
    expect(named.filter((name) => !flags.includes(name))).toEqual([]);
  });
});
