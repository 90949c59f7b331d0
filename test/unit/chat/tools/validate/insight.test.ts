import { describe, expect, it } from 'vitest';
import { coerceArguments } from '../../../../../src/chat/tools/validate/coerceArguments.ts';
import { createInsight, visibleInsight, validateCall } from '../../../../../src/chat/tools/validate/callIssues.ts';
import type { Tool } from '../../../../../src/chat/tool.ts';
import { JsonNumber } from '../../../../../src/chat/json/value.ts';
import { createTool, mentionsOf, parseArguments } from '../../../../helpers/toolCalls.ts';

describe('an insight', () => {
  const transfer = (consequential: boolean): Tool =>
    createTool({
      consequential,
      parameters: [
        { name: 'amount', type: 'number', source: 'customer', significance: 'how much to send', precedence: 2 },
        {
          name: 'recipient',
          type: 'string',
          source: 'customer',
          significance: 'who gets it',
          examples: ['Ada'],
          precedence: 1,
        },
        { name: 'account', type: 'string', hidden: true },
        { name: 'note', type: 'string', source: 'customer', required: false },
      ],
    });
  const insight = (tool: Tool, args: object, messages: string) =>
    createInsight(
      tool,
      parseArguments(args),
      validateCall('f', coerceArguments(parseArguments(args), tool), tool, mentionsOf([messages])),
    );

  it('replaces a call with an ungrounded required value', () => {
    const result = insight(
      transfer(false),
      { amount: 500, recipient: 'Bob', account: 'main' },
      'transfer 500 to my friend',
    );
    expect(result).toMatchObject({
      tool: 'f',
      arguments: new Map<string, unknown>([
        ['amount', new JsonNumber('500')],
        ['recipient', 'Bob'],
        ['account', 'main'],
      ]),
      missing: [],
      invalid: [{ name: 'recipient', significance: 'who gets it', examples: ['Ada'] }],
    });
  });

  it('replaces a call with a missing parameter', () => {
    expect(insight(transfer(false), { amount: 500, account: 'main' }, '500')).toMatchObject({
      missing: [{ name: 'recipient' }],
      invalid: [],
    });
  });

  it('is created for any issue of a consequential tool only', () => {
    const args = { amount: 500, recipient: 'Ada', account: 'main', note: 'rent' };
    expect(insight(transfer(true), args, '500 to Ada')).toMatchObject({ invalid: [{ name: 'note' }] });
    expect(insight(transfer(false), args, '500 to Ada')).toBeUndefined();
  });

  it('is not created for a valid call', () => {
    expect(insight(transfer(true), { amount: 500, recipient: 'Ada', account: 'main' }, '500 to Ada')).toBeUndefined();
  });

  it('has the facts of a nested parameter, and for the rest those of what it is in', () => {
    const tool = createTool({
      parameters: {
        type: 'object',
        properties: {
          place: {
            type: 'object',
            significance: 'where to go',
            precedence: 3,
            properties: { city: { type: 'string', examples: ['Rome'], precedence: 1 } },
            required: ['city'],
          },
          stops: {
            type: 'array',
            items: { type: 'object', required: ['name'], properties: { name: { hidden: true } } },
          },
        },
      },
    });
    expect(insight(tool, { place: {}, stops: [{ name: 'inn' }, {}] }, '')?.missing).toMatchObject([
      { name: 'place.city', significance: 'where to go', examples: ['Rome'], precedence: 1, hidden: false },
      { name: 'stops[1].name', significance: '', examples: [], precedence: 0, hidden: true },
    ]);
  });

  it.each<[string, object, boolean]>([
    ['an optional value of a nested object', { place: { zip: '123', city: 'hello' } }, false],
    ['a required value of a nested object', { place: { zip: '123', city: 'Rome' } }, true],
    ['a value of a required list', { names: ['Bob'] }, true],
    ['a value of an optional list', { tags: ['red'] }, false],
  ])('of %s that was not said, replaces the call only if the value is required', (_, args, isBlocking) => {
    const said = { type: 'string', source: 'customer' };
    const tool = createTool({
      parameters: {
        type: 'object',
        properties: {
          place: { type: 'object', properties: { city: said, zip: said }, required: ['city'] },
          names: { type: 'array', items: said },
          tags: { type: 'array', items: said },
        },
        required: ['names'],
      },
    });
    const given = { names: [], ...args };
    expect(insight(tool, given, 'hello') !== undefined).toBe(isBlocking);
  });

  it('shows templates only the visible parameters of the first precedence', () => {
    const result = insight(transfer(true), {}, 'transfer something');
    expect(result?.missing.map(({ name }) => name)).toEqual(['amount', 'recipient', 'account']);
    expect(result && visibleInsight(result).missing.map(({ name }) => name)).toEqual(['recipient']);
  });
});
