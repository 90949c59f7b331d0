import { describe, expect, it } from 'vitest';
import { analyseNode, lintGraph } from '../../../../src/graph/compile/analysis.ts';
import { registryWith } from '../../../../src/graph/nodes/index.ts';
import { routePrompt } from '../../../../src/graph/nodes/route.ts';

const linesOf = (labels: Parameters<typeof routePrompt>[0]): readonly string[] => routePrompt(labels).split('\n');

describe('the prompt of a Route', () => {
  it('names each label on a line, with its condition and examples', () => {
    expect(
      routePrompt([
        { name: 'order', when: 'the user wants to buy something', examples: ['two beers', "I'll take it"] },
        { name: 'chat', when: 'anything else' },
      ]),
    ).toMatchInlineSnapshot(`
      "Read the user's message and reply with one label only.

      Labels:
      - order: the user wants to buy something, such as "two beers", "I'll take it"
      - chat: anything else"
    `);
  });

  it.each([
    ['without a condition', { name: 'order' }, '- order'],
    ['with examples only', { name: 'order', examples: ['two beers'] }, '- order, such as "two beers"'],
    [
      'with quotes and backslashes in an example',
      { name: 'a', when: 'b', examples: ['say "hi" \\o/'] },
      String.raw`- a: b, such as "say \"hi\" \\o/"`,
    ],
    [
      'with line breaks in an example',
      { name: 'a', when: 'b', examples: ['one\r\ntwo'] },
      String.raw`- a: b, such as "one\r\ntwo"`,
    ],
    ['with line breaks in its condition', { name: 'a', when: '\n b, \r\n\n or c \n' }, '- a: b, or c'],
    ['with other scripts', { name: '🍺', when: 'größer', examples: ['東京'] }, '- 🍺: größer, such as "東京"'],
  ])('has one line for a label %s', (_, label, line) => {
    expect(linesOf([label, { name: 'chat' }]).slice(3)).toEqual([line, '- chat']);
  });
});

describe('a Route', () => {
  const registry = registryWith();

  function warningsOf(params: object, exits: Readonly<Record<string, string>>): readonly string[] {
    const type = registry.get('Route');
    const reading = type?.read(params);
    if (!type || !reading?.ok) throw new Error('the parameters are invalid');
    const targets = new Map(Object.entries(exits));
    const all = type.exits(reading.value, Object.keys(exits));
    const sort = analyseNode('sort', { type, exits: all, targets }, type.effects(reading.value, all));
    const say = { ...sort, name: 'say', type: 'Say', exits: ['default'], targets: new Map(), effects: undefined };
    return [...lintGraph('sort', new Map(Object.entries({ sort, say })))];
  }

  const labels = [{ name: 'a', patterns: ['a'] }, { name: 'b' }];
  const told = [{ name: 'a', examples: ['a'] }, { name: 'b' }];
  const ofStorage = { match: 'vectors', labels: undefined, string_storage: 'x.kb.json', label_field: 'x' };
  const silent = (exit: string): string =>
    `sort.exits.${exit} can end a turn in which the client gets neither a text nor a call; lead it to a node that answers`;

  it.each([
    ['by a model', {}, { a: 'say' }, ['b']],
    ['by a model, but not_matched without a threshold', {}, { a: 'say', b: 'say' }, []],
    ['by a model with a threshold', { threshold: 0.1 }, { a: 'say', b: 'say' }, ['not_matched']],
    ['by a model, but not_matched with one label', { labels: labels.slice(1), threshold: 0.5 }, { b: 'say' }, []],
    ['by patterns, but a label that has none', { match: 'patterns' }, { a: 'say' }, ['not_matched']],
    [
      'by examples, but a label that has none',
      { match: 'vectors', labels: told, threshold: 0.1 },
      { not_matched: 'say' },
      ['a', 'no_match'],
    ],
    ['by examples without a threshold', { match: 'vectors', labels: told }, { a: 'say' }, []],
    ['by examples with a margin', { match: 'vectors', labels: told, margin: 0.1 }, { a: 'say' }, ['no_match']],
    ['by examples of a storage', ofStorage, { x: 'say', no_match: 'say' }, ['otherwise']],
  ])('is linted for exits that end a turn without a word: %s', (_, params, exits, silentExits) => {
    expect(warningsOf({ labels, ...params }, exits)).toEqual(silentExits.map(silent));
  });
});
