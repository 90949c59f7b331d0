import { describe, expect, it } from 'vitest';
import { coerceArguments } from '../../../../src/tools/validate/coerceArguments.ts';
import { chatml } from '../../../../src/tools/formats/chatml.ts';
import { isGrounded, collectMentions } from '../../../../src/tools/validate/grounding.ts';
import { createInsight, visibleInsight } from '../../../../src/tools/validate/insight.ts';
import { validateCall } from '../../../../src/tools/validate/callIssues.ts';
import { readTool, type Tool, type ToolDeclaration } from '../../../../src/tools/tool.ts';
import { stringifyJson, type JsonObject } from '../../../../src/tools/json/value.ts';

function createTool(declaration: Partial<ToolDeclaration>): Tool {
  const reading = readTool({ name: 'f', description: 'd', parameters: [], consequential: false, ...declaration });
  if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
  return reading.value;
}

/** Arguments as they are parsed from the text of a model. */
function parseArguments(args: object | string): JsonObject {
  const text = typeof args === 'string' ? args : JSON.stringify(args);
  const [call] = chatml.detect(`<tool_call>{"name": "f", "arguments": ${text}}</tool_call>`).calls;
  if (!call) throw new Error(`no call in ${text}`);
  return call.arguments;
}

const issuesOf = (tool: Tool | undefined, args: object | string, messages: readonly string[] = []): string[] =>
  validateCall(
    'f',
    tool ? coerceArguments(parseArguments(args), tool) : parseArguments(args),
    tool,
    collectMentions(messages),
  ).map(({ code, param }) => `${code} ${param}`.trim());

describe('the validation of a call', () => {
  const tool = createTool({
    parameters: [
      { name: 'text', type: 'string' },
      { name: 'count', type: 'integer', required: false },
      { name: 'ratio', type: 'number', required: false },
      { name: 'on', type: 'boolean', required: false },
      { name: 'mode', type: 'string', enum: ['a', 'b'], required: false },
      { name: 'level', type: 'integer', enum: [1, 2], required: false },
      { name: 'list', type: 'array', items: { type: 'integer' }, required: false },
      { name: 'where', type: 'object', required: false },
    ],
  });
  const nested = createTool({
    parameters: {
      type: 'object',
      properties: {
        to: {
          type: 'object',
          properties: { city: { type: 'string' }, zip: { type: ['string', 'null'] } },
          required: ['city'],
        },
      },
      required: ['to'],
    },
  });

  it.each<[string, Tool | undefined, object | string, string[]]>([
    [
      'finds nothing in a valid call',
      tool,
      { text: 'x', count: 3, ratio: 1.5, on: true, mode: 'a', level: 2, list: [1, 2], where: {} },
      [],
    ],
    ['finds an unknown tool', undefined, {}, ['unknown_tool']],
    ['finds a missing parameter', tool, {}, ['missing_param text']],
    ['finds an unexpected parameter', tool, { text: 'x', more: 1 }, ['unexpected_param more']],
    ['finds a word for a number', tool, { text: 'x', count: 'three' }, ['wrong_type count']],
    ['accepts a number for a string', tool, { text: 5 }, []],
    ['finds a fraction for an integer', tool, { text: 'x', count: 2.5 }, ['wrong_type count']],
    ['accepts an integer with decimals', tool, '{"text": "x", "count": 2.0}', []],
    ['accepts numbers and booleans as strings', tool, { text: 'x', count: '3', ratio: '1.5', on: 'true' }, []],
    ['finds null for a string', tool, { text: null }, ['wrong_type text']],
    [
      'finds a value outside of an enum',
      tool,
      { text: 'x', mode: 'c', level: 3 },
      ['not_in_enum mode', 'not_in_enum level'],
    ],
    ['finds an invalid item', tool, { text: 'x', list: [1, 'x', 2.5] }, ['wrong_type list[1]', 'wrong_type list[2]']],
    ['finds a list for an object', tool, { text: 'x', where: [1] }, ['wrong_type where']],
    ['finds a missing nested parameter', nested, { to: { zip: null } }, ['missing_param to.city']],
    [
      'finds an unexpected nested parameter',
      nested,
      { to: { city: 'x', zip: 5, street: 'y' } },
      ['unexpected_param to.street'],
    ],
    [
      'finds keys that every object has',
      tool,
      '{"text": "x", "constructor": 1, "__proto__": 2}',
      ['unexpected_param constructor', 'unexpected_param __proto__'],
    ],
  ])('%s', (_, checked, args, issues) => {
    expect(issuesOf(checked, args)).toEqual(issues);
  });
});

describe('a value with several allowed types', () => {
  const tool = createTool({
    parameters: {
      type: 'object',
      properties: { size: { type: ['string', 'integer'], enum: ['auto', 1] }, level: { type: ['integer', 'string'] } },
    },
  });

  it.each(['{"size": 1, "level": "5"}', '{"size": "auto", "level": 5}'])('is not coerced: %s', (text) => {
    expect(stringifyJson(coerceArguments(parseArguments(text), tool))).toBe(text);
    expect(issuesOf(tool, text)).toEqual([]);
  });
});

describe('a tool is rejected', () => {
  const errorsOf = (parameters: object): string[] => {
    const reading = readTool({ name: 'f', description: 'd', parameters: parameters as never, consequential: false });
    return reading.ok ? [] : reading.errors.map(({ pointer, message }) => `${pointer} ${message}`);
  };
  const destination = { type: 'object', properties: { city: { type: 'string' } }, required: true };

  it.each<[string, object, string]>([
    ['of an object', { type: 'object', properties: { to: destination } }, '/parameters/properties/to/required'],
    [
      'of an item of a list',
      { type: 'object', properties: { stops: { type: 'array', items: destination } } },
      '/parameters/properties/stops/items/required',
    ],
    [
      'of an item of a parameter',
      [{ name: 'stops', type: 'array', items: destination }],
      '/parameters/0/items/required',
    ],
  ])('when required %s is no list', (_, parameters, pointer) => {
    expect(errorsOf(parameters)).toEqual([`${pointer} must be a list of names`]);
  });
});

describe('the grounding of a value', () => {
  const grounded = (value: unknown, ...messages: string[]): boolean => {
    const members = parseArguments({ value });
    return isGrounded(members.get('value') ?? null, collectMentions(messages));
  };

  it.each<[unknown, string, boolean]>([
    ['porch', 'Turn on the PORCH light', true],
    ['porch light', 'the light on the porch', true],
    ['Zürich', 'weather in zürich?', true],
    ['kitchen', 'turn on the porch light', false],
    ['art', 'start the car', false],
    ['日本', 'ニュース 日本 です', true],
    [500, 'transfer 500 to my friend', true],
    [500, 'transfer 1,500 to my friend', false],
    [1500, 'transfer 1,500 to my friend', true],
    [1.5, 'one and a half, 1,5 litres', true],
    [2, 'give me two apples', true],
    [25, 'twenty-five of them', true],
    [200, 'two hundred', true],
    [3, 'give me two apples', false],
    ['500', 'transfer 500', true],
    ['2026-11-21', 'on 21 November 2026', true],
    ['2026-11-21', 'on November 21st', true],
    ['2026-11-21', 'on 11/21/2026', true],
    ['2026-11-21', 'on 21.11.', true],
    ['2026-11-21', 'tomorrow please', true],
    ['2026-11-21', 'on 22 November 2026', false],
    [true, 'lights please', true],
    [['apples', 'bread'], 'apples and bread', true],
    [['apples', 'cheese'], 'apples and bread', false],
    [{ city: 'Oban' }, 'the tide in Oban', true],
    [3, 'give me 2-3 apples', true],
    [5, 'open gate-5', true],
    [-5, 'open gate-5', false],
    [-5, 'set it to -5 degrees', true],
  ])('of %j in "%s" is %s', (value, messages, expected) => {
    expect(grounded(value, messages)).toBe(expected);
  });

  it('includes earlier messages', () => {
    expect(grounded('Ada', 'I am Ada', 'send it to me')).toBe(true);
  });

  it('does not combine words of different messages', () => {
    expect(grounded('Ada Lovelace', 'I am Ada', 'not Lovelace')).toBe(false);
  });
});

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
      validateCall('f', coerceArguments(parseArguments(args), tool), tool, collectMentions([messages])),
    );

  it('replaces a call with an ungrounded required value', () => {
    const result = insight(
      transfer(false),
      { amount: 500, recipient: 'Bob', account: 'main' },
      'transfer 500 to my friend',
    );
    expect(result).toMatchObject({
      tool: 'f',
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

  it('shows templates only the visible parameters of the first precedence', () => {
    const result = insight(transfer(true), {}, 'transfer something');
    expect(result?.missing.map(({ name }) => name)).toEqual(['amount', 'recipient', 'account']);
    expect(result && visibleInsight(result).missing.map(({ name }) => name)).toEqual(['recipient']);
  });
});
