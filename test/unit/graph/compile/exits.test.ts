import { describe, expect, it } from 'vitest';
import { checkGraph } from '../../../../src/server/checkGraph.ts';
import { compile } from '../../../../src/graph/compile/compile.ts';
import { editorSchema } from '../../../../src/graph/compile/editorSchema.ts';
import { toMermaid } from '../../../../src/cli/commands/draw.ts';
import { exitsFromParam } from '../../../../src/graph/compile/exits.ts';
import { defineNode } from '../../../../src/graph/compile/node.ts';
import { readCatalogue } from '../../../../src/inference/models/catalogue/catalogue.ts';
import { registryWith } from '../../../../src/graph/nodes/index.ts';
import { repositoryPath } from '../../../helpers/server.ts';

/** A node type with an exit for each side of a die. */
const die = defineNode({
  type: 'Die',
  summary: 'Rolls a die.',
  params: {
    type: 'object',
    additionalProperties: false,
    required: ['sides'],
    properties: { sides: { type: 'array', items: { type: 'string' } } },
  },
  exits: ({ sides }) => [...sides, 'lost'],
  effects: ({ sides }) => ({ silentExits: [...sides, 'lost'] }),
  create: ({ sides }) => Promise.resolve({ run: () => Promise.resolve(sides[0] ?? 'lost') }),
});

const registry = registryWith({ nodeTypes: [die] });
const catalogue = await readCatalogue(repositoryPath('models.json'));
const check = (nodes: object) =>
  checkGraph(
    { start_node: 'roll', nodes: { ...nodes, no: { type: 'CannedResponse', params: { inline_strings: ['No.'] } } } },
    { registry, catalogue, storageRoot: repositoryPath('graphs') },
  );

describe('a node type whose exits follow from its parameters', () => {
  it('has the exits of these parameters', async () => {
    const exits = { one: 'no', two: 'no', lost: 'no' };
    const { faults } = await check({ roll: { type: 'Die', params: { sides: ['one', 'two'] }, exits } });
    expect(faults).toEqual([]);
  });

  it('has no others, and says which it has', async () => {
    const { faults } = await check({
      roll: { type: 'Die', params: { sides: ['heads', 'tails'] }, exits: { heds: 'no' } },
    });
    const message = 'roll.exits.heds is no exit of Die (it has "heads", "tails", "lost"); did you mean "heads"?';
    expect(faults).toEqual([expect.objectContaining({ pointer: '/nodes/roll/exits/heds', message })]);
  });

  it('has others suggested, however many it has', async () => {
    const sides = Array.from({ length: 64 }, (_, index) => `side "${index}" ${'x'.repeat(50)}`);
    const { faults } = await check({ roll: { type: 'Die', params: { sides }, exits: { [`${sides[63]}x`]: 'no' } } });
    const [{ message } = { message: '' }] = faults;
    expect(message).toContain(String.raw`(it has "side \"0\" xxx`);
    expect(message).toContain('59 more); did you mean "side "63" xxx');
  });

  it('still has its targets checked where its parameters are invalid', async () => {
    const { faults } = await check({ roll: { type: 'Die', params: { sides: 6 }, exits: { one: 'on', two: 'no' } } });
    const pointers = faults.map(({ pointer }) => pointer);
    expect(pointers).toEqual(['/nodes/roll/params/sides', '/nodes/roll/exits/one']);
  });

  it('has at most 400 faults in exits that it does not have, each of which is compared with all names', async () => {
    const sides = Array.from({ length: 64 }, (_, index) => `side ${index}`);
    const exits = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`wrong ${index}`, 'no']));
    const graph = { start_node: 'roll', nodes: { roll: { type: 'Die', params: { sides }, exits } } };
    const contextFor = (): never => {
      throw new Error('no node is created');
    };
    const compiling = compile(graph, { registry, maxNodes: 2, warn: undefined, contextFor });
    await expect(compiling).rejects.toThrow('; 399 more faults are in the detail');
  });

  it('is drawn with them', () => {
    const graph = {
      description: '',
      default_model_name: '',
      start_node: 'roll',
      nodes: { roll: { type: 'Die', params: { sides: ['one'] }, exits: {} } },
    };
    expect(toMermaid(graph, registry)).toContain('n0 -->|one| done\n  n0 -->|lost| done');
  });

  it.each([
    ['of any characters', 'a "b" | (c) <d> #e', 'n0 -->|"a #quot;b#quot; #124; (c) #lt;d> #35;e"| n1'],
    ['on several lines', 'a\n\u001b[1mb', 'n0 -->|"a [1mb"| n1'],
    ['with the name of a member of all objects', 'constructor', 'n0 -->|constructor| n1'],
    ['named default, beside others', 'default', 'n0 -->|default| n1'],
  ])('is drawn with exits %s', (_, side, arrow) => {
    const nodes = {
      roll: { type: 'Die', params: { sides: [side] }, exits: { [side]: 'no' } },
      no: { type: 'CannedResponse', params: { inline_strings: ['No.'] }, exits: {} },
    };
    const graph = { description: '', default_model_name: '', start_node: 'roll', nodes };
    expect(toMermaid(graph, registry).split('\n')).toContain(`  ${arrow}`);
  });

  it('is drawn with an exit that ends the turn, though all objects have a member of its name', () => {
    const nodes = { roll: { type: 'Die', params: { sides: ['constructor'] }, exits: {} } };
    const graph = { description: '', default_model_name: '', start_node: 'roll', nodes };
    expect(toMermaid(graph, registry)).toContain('n0 -->|constructor| done');
  });

  it('may have any exit in an editor', () => {
    const { definitions } = editorSchema(registry) as { definitions: { node: { allOf: object[] } } };
    expect(definitions.node.allOf).toContainEqual(
      expect.objectContaining({ if: expect.objectContaining({ properties: { type: { const: 'Die' } } }) }),
    );
    expect(JSON.stringify(definitions.node.allOf.at(-1))).toContain('"exits":{"type":"object","description":');
  });
});

describe('exits that follow from a list', () => {
  const edge = { param: 'on', is: 'edge', exits: ['edge'] };
  it.each([
    ['the entries', { param: 'sides' }, { sides: ['one', 'two'] }, ['one', 'two']],
    ['a member of the entries', { param: 'labels', member: 'name' }, { labels: [{ name: 'a' }, {}] }, ['a']],
    ['other names after them', { param: 'sides', and: ['lost'] }, { sides: ['one'] }, ['one', 'lost']],
    ['only the others where there is no list', { param: 'sides', and: ['lost'] }, { sides: 6 }, ['lost']],
    ['each name once', { param: 'sides', and: ['one'] }, { sides: ['one', 'one'] }, ['one']],
    ['more with a value of a parameter', { param: 'sides', if: edge }, { sides: ['one'], on: 'edge' }, ['one', 'edge']],
    ['no more with another value', { param: 'sides', if: edge }, { sides: ['one'], on: 'face' }, ['one']],
    ['those of the graph without the list', { param: 'sides', withoutList: ['lost'] }, {}, ['connected', 'lost']],
    ['those of the list', { param: 'sides', withoutList: ['lost'] }, { sides: ['one'] }, ['one']],
  ])('are %s', (_, exits, params, expected) => {
    expect(exitsFromParam(exits, params, ['connected'])).toEqual(expected);
  });

  it('are checked in a graph, and named in the editor schema', async () => {
    const exits = { param: 'sides', and: ['lost'] } as const;
    const { effects: _, ...rest } = die;
    const coin = defineNode({ ...rest, type: 'Coin', exits });
    const coins = registryWith({ nodeTypes: [coin] });
    const nodes = { roll: { type: 'Coin', params: { sides: ['heads'] }, exits: { heads: 'roll', tails: 'roll' } } };
    const { faults } = await checkGraph(
      { start_node: 'roll', nodes },
      { registry: coins, catalogue, storageRoot: repositoryPath('graphs') },
    );
    expect(faults.map(({ message }) => message)).toEqual([
      'roll.exits.tails is no exit of Coin (it has "heads", "lost")',
    ]);
    expect(JSON.stringify(editorSchema(coins))).toContain(`"x-exits-from":${JSON.stringify(exits)}`);
  });
});
