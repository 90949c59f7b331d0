import { describe, expect, it } from 'vitest';
import { Fault } from '../../../../src/protocol/fault.ts';
import { changeParams } from '../../../../src/graph/compile/liveParams.ts';
import { type EffectsContext, defineNode } from '../../../../src/graph/compile/node.ts';
import { createRegistry } from '../../../../src/graph/compile/registry.ts';
import { explainKnowledge } from '../../../../src/graph/nodes/inference.ts';
import { resolveStorage } from '../../../../src/graph/nodes/stringParams.ts';
import { createList } from '../../../../src/graph/storage/stringStorage.ts';

const chunk = (id: string, text: string) => ({ id, text, score: 1, metadata: {} });

describe('a prompt that is too large', () => {
  const tooLarge = new Fault('PROMPT_TOO_LARGE', 'it takes 9000 tokens');
  const blocks = [
    { name: 'lore', chunks: [chunk('a', 'The mayor is Oda.'), chunk('b', 'The smith is Harl.')] },
    { name: 'rumours', chunks: [chunk('c', 'Nobody has seen it.')] },
  ];

  it('names the knowledge that is in it, and what to lower', () => {
    const texts = ['Facts: The mayor is Oda. The smith is Harl.', 'hello'];
    expect(explainKnowledge(tooLarge, blocks, texts)).toMatchObject({
      name: 'PROMPT_TOO_LARGE',
      message:
        'it takes 9000 tokens; the prompt has 2 entries of knowledge_lore with 35 characters: lower top_k of the node that finds them, or make the entries shorter',
    });
  });

  it('names none where the prompt has none, and neither does another error', () => {
    expect(explainKnowledge(tooLarge, blocks, ['hello'])).toBe(tooLarge);
    const other = new Error('The mayor is Oda.');
    expect(explainKnowledge(other, blocks, ['The mayor is Oda.'])).toBe(other);
  });
});

describe('the storage of a node', () => {
  const context = (storages: Readonly<Record<string, readonly string[]>>) => {
    const warnings: string[] = [];
    const strings: EffectsContext['strings'] = async (name) => {
      const list = storages[name];
      if (list) return createList(list);
      throw new Fault('STORAGE_FILE_NOT_FOUND', `there is no "${name}"`);
    };
    const warn = (warning: string): void => void warnings.push(warning);
    return { nodeName: 'find', limits: { maxTools: 1, maxPatterns: 2 }, strings, warn, warnings };
  };

  it.each([
    ['the strings in the graph', { inline_strings: ['a'] }, ['a'], 'inline_strings'],
    ['the named one', { string_storage: 'lore', inline_strings: [] }, ['b'], 'string_storage'],
    [
      'the named one, before those in the graph',
      { string_storage: 'lore', inline_strings: ['a'] },
      ['b'],
      'string_storage',
    ],
    [
      'the strings in the graph, if there is no named one',
      { string_storage: 'x', inline_strings: ['a'] },
      ['a'],
      'inline_strings',
    ],
  ])('is %s', async (_, params, list, param) => {
    const given = context({ lore: ['b'] });
    expect(await resolveStorage(params, given)).toMatchObject({ storage: { kind: 'LIST', list }, param });
    expect(given.warnings).toHaveLength('string_storage' in params && params.inline_strings.length > 0 ? 1 : 0);
  });

  it('is an error if there is none, and if there are too many strings', async () => {
    await expect(resolveStorage({ string_storage: 'x', inline_strings: [] }, context({}))).rejects.toMatchObject({
      errors: [{ pointer: '/string_storage', message: 'cannot be used: there is no "x"' }],
    });
    await expect(resolveStorage({ inline_strings: ['a', 'b', 'c'] }, context({}))).rejects.toMatchObject({
      errors: [{ pointer: '/inline_strings', code: 'LIMIT_EXCEEDED' }],
    });
  });
});

const finder = defineNode({
  type: 'Finder',
  summary: 'Has a live object with members and one without.',
  params: {
    type: 'object',
    additionalProperties: false,
    properties: {
      filter: { type: 'object', live: true },
      sampling: {
        type: 'object',
        additionalProperties: false,
        properties: { top_k: { type: 'integer' }, seed: { type: 'integer' } },
        live: true,
      },
    },
  },
  exits: ['default'],
  create: () => Promise.resolve({ run: () => Promise.resolve('default' as const) }),
});

describe('a change of a parameter that is an object', () => {
  const type = createRegistry([finder]).get('Finder');
  if (!type) throw new Error('no type');
  const rawParams = { filter: { kind: 'law', place: 'abbey' }, sampling: { top_k: 1, seed: 2 } };
  const node = { run: () => Promise.resolve('default') };

  it.each([
    [{ sampling: { top_k: 5 } }, { ...rawParams, sampling: { top_k: 5, seed: 2 } }],
    [{ sampling: { seed: null } }, { ...rawParams, sampling: { top_k: 1 } }],
    [{ filter: { place: 'inn' } }, { ...rawParams, filter: { place: 'inn' } }],
    [{ filter: null }, { sampling: rawParams.sampling }],
  ])('%o merges declared members, and replaces all others', async (changes, expected) => {
    expect((await changeParams({ node, type, rawParams }, changes, 'find')).rawParams).toEqual(expected);
  });
});
