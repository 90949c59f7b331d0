import { describe, expect, it } from 'vitest';
import { coerceArguments } from '../../../../../src/chat/tools/validate/coerceArguments.ts';
import {
  createInsight,
  type Issue,
  validateCall,
  visibleInsight,
} from '../../../../../src/chat/tools/validate/callIssues.ts';
import { createTool, mentionsOf, parseArguments } from '../../../../helpers/toolCalls.ts';

const tool = createTool({
  parameters: {
    type: 'object',
    properties: {
      place: {
        type: 'object',
        properties: { city: { type: 'string', source: 'customer' }, zip: { type: 'string' } },
      },
      items: {
        type: 'array',
        items: {
          type: 'object',
          properties: { name: { type: 'string', source: 'customer' }, count: { type: 'integer', source: 'customer' } },
        },
      },
      rooms: { type: 'array', items: { type: 'integer', source: 'customer' } },
      guest: {
        type: 'object',
        source: 'customer',
        properties: { name: { type: 'string' }, id: { type: 'string', source: 'context' } },
      },
      note: { anyOf: [{ type: 'object', properties: { text: { type: 'string', source: 'customer' } } }] },
    },
  },
});

const issuesOf = (args: object, message: string): readonly Issue[] =>
  validateCall('f', coerceArguments(parseArguments(args), tool), tool, mentionsOf([message]));

describe('a nested value that must come from the user', () => {
  it.each<[string, object, string, readonly string[]]>([
    ['is a property', { place: { city: 'Rome', zip: '00100' } }, 'to Rome', []],
    ['is a property that was not said', { place: { city: 'Rome', zip: '00100' } }, 'to Paris', ['place.city']],
    [
      'is in an item of a list',
      {
        items: [
          { name: 'axe', count: 1 },
          { name: 'rope', count: 3 },
        ],
      },
      'an axe and a rope',
      ['items[1].count'],
    ],
    ['is a number, compared by value', { items: [{ count: 1000 }] }, 'a thousand', []],
    ['is an item', { rooms: [12, 13] }, 'room 12', ['rooms[1]']],
    ['is an item, mentioned by its article', { rooms: [1] }, 'a room', []],
    ['is in one of several schemas', { note: { text: 'late' } }, 'I come early', ['note.text']],
  ])('%s', (_, args, message, params) => {
    expect(issuesOf(args, message).map(({ code, param }) => `${code} ${param}`)).toEqual(
      params.map((param) => `ungrounded_value ${param}`),
    );
  });

  it('is the whole of an object, without what has another source', () => {
    const args = { guest: { name: 'Ada', id: 'g-17' } };
    expect(issuesOf(args, 'I am Ada')).toEqual([]);
    expect(issuesOf(args, 'good evening')).toEqual([
      {
        code: 'ungrounded_value',
        param: 'guest',
        message: 'guest is {"name": "Ada"}, which the user never said',
      },
    ]);
  });
});

describe('a value that must not come from the user', () => {
  const account = createTool({
    parameters: {
      type: 'object',
      properties: {
        account: { type: 'string', source: 'context' },
        order: { type: 'object', source: 'customer', properties: { note: { type: 'string', source: 'any' } } },
      },
      required: ['account'],
    },
  });
  const check = (args: object, user: string, context: string) =>
    validateCall('f', parseArguments(args), account, mentionsOf([user], [context]));

  it.each([
    ['is in the context', 'AC-7', 'show it', 'The account is AC-7.', []],
    ['is in both', 'AC-7', 'show AC-7', 'The account is AC-7.', []],
    ['is in neither', 'AC-7', 'show it', 'Be brief.', []],
    [
      'is what the user alone said',
      'AC-7',
      'show AC-7',
      'The account is AC-8.',
      ['account is "AC-7", which only the user said'],
    ],
  ])('%s', (_, value, user, context, messages) => {
    expect(check({ account: value }, user, context).map(({ message }) => message)).toEqual(messages);
  });

  it('is not asked for when it is missing', () => {
    const issues = check({}, 'show it', '');
    const insight = createInsight(account, new Map(), issues);
    expect(insight && visibleInsight(insight)).toMatchObject({ missing: [], invalid: [] });
    expect(insight?.missing).toMatchObject([{ name: 'account', hidden: true }]);
  });

  it('is not checked where its source is any', () => {
    expect(check({ account: 'x', order: { note: 'invented' } }, 'x', 'x')).toEqual([]);
  });
});
