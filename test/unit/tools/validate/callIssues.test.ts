import { describe, expect, it } from 'vitest';
import { coerceArguments } from '../../../../src/tools/validate/coerceArguments.ts';
import { chatml } from '../../../../src/tools/formats/chatml.ts';
import { isGrounded, collectMentions } from '../../../../src/tools/validate/grounding.ts';
import { createInsight, visibleInsight } from '../../../../src/tools/validate/insight.ts';
import { validateCall } from '../../../../src/tools/validate/callIssues.ts';
import { readTool, type Tool, type ToolDeclaration } from '../../../../src/tools/tool.ts';
import { stringifyJson, type JsonObject } from '../../../../src/tools/json/value.ts';

function toolOf(declaration: Partial<ToolDeclaration>): Tool {
  const reading = readTool({ name: 'f', description: 'd', parameters: [], consequential: false, ...declaration });
  if (!reading.ok) throw new Error(JSON.stringify(reading.errors));
  return reading.value;
}

/** Arguments as they are read out of a model's text. */
function argumentsOf(args: object | string): JsonObject {
  const text = typeof args === 'string' ? args : JSON.stringify(args);
  const [call] = chatml.detect(`<tool_call>{"name": "f", "arguments": ${text}}</tool_call>`).calls;
  if (!call) throw new Error(`no call in ${text}`);
  return call.arguments;
}

const found = (tool: Tool | undefined, args: object | string, said: readonly string[] = []): string[] =>
  validateCall(
    'f',
    tool ? coerceArguments(argumentsOf(args), tool) : argumentsOf(args),
    tool,
    collectMentions(said),
  ).map(({ code, param }) => `${code} ${param}`.trim());

describe('a call is checked against its tool', () => {
  const tool = toolOf({
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
  const nested = toolOf({
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
      'with nothing to find',
      tool,
      { text: 'x', count: 3, ratio: 1.5, on: true, mode: 'a', level: 2, list: [1, 2], where: {} },
      [],
    ],
    ['of a tool that nobody declared', undefined, {}, ['unknown_tool']],
    ['without what is required', tool, {}, ['missing_param text']],
    ['with what nobody asked for', tool, { text: 'x', more: 1 }, ['unexpected_param more']],
    ['with a word for a number', tool, { text: 'x', count: 'three' }, ['wrong_type count']],
    ['with a number for a word, which loses nothing', tool, { text: 5 }, []],
    ['with a fraction for a whole number', tool, { text: 'x', count: 2.5 }, ['wrong_type count']],
    ['with a whole number written as a fraction', tool, '{"text": "x", "count": 2.0}', []],
    [
      'with numbers and truths as strings, which loses nothing',
      tool,
      { text: 'x', count: '3', ratio: '1.5', on: 'true' },
      [],
    ],
    ['with null for a word', tool, { text: null }, ['wrong_type text']],
    [
      'with a value that is not allowed',
      tool,
      { text: 'x', mode: 'c', level: 3 },
      ['not_in_enum mode', 'not_in_enum level'],
    ],
    ['with a wrong item', tool, { text: 'x', list: [1, 'x', 2.5] }, ['wrong_type list[1]', 'wrong_type list[2]']],
    ['with a list for an object', tool, { text: 'x', where: [1] }, ['wrong_type where']],
    ['with something missing inside', nested, { to: { zip: null } }, ['missing_param to.city']],
    [
      'with something strange inside',
      nested,
      { to: { city: 'x', zip: 5, street: 'y' } },
      ['unexpected_param to.street'],
    ],
    [
      'with keys that every object has',
      tool,
      '{"text": "x", "constructor": 1, "__proto__": 2}',
      ['unexpected_param constructor', 'unexpected_param __proto__'],
    ],
  ])('%s', (_, checked, args, issues) => {
    expect(found(checked, args)).toEqual(issues);
  });
});

describe('a value of one of several types', () => {
  const tool = toolOf({
    parameters: {
      type: 'object',
      properties: { size: { type: ['string', 'integer'], enum: ['auto', 1] }, level: { type: ['integer', 'string'] } },
    },
  });

  it.each(['{"size": 1, "level": "5"}', '{"size": "auto", "level": 5}'])('stays as it is: %s', (text) => {
    expect(stringifyJson(coerceArguments(argumentsOf(text), tool))).toBe(text);
    expect(found(tool, text)).toEqual([]);
  });
});

describe('a tool is refused', () => {
  const refusalsOf = (parameters: object): string[] => {
    const reading = readTool({ name: 'f', description: 'd', parameters: parameters as never, consequential: false });
    return reading.ok ? [] : reading.errors.map(({ pointer, message }) => `${pointer} ${message}`);
  };
  const to = { type: 'object', properties: { city: { type: 'string' } }, required: true };

  it.each<[string, object, string]>([
    ['of an object', { type: 'object', properties: { to } }, '/parameters/properties/to/required'],
    [
      'of an item of a list',
      { type: 'object', properties: { stops: { type: 'array', items: to } } },
      '/parameters/properties/stops/items/required',
    ],
    ['of an item of a parameter', [{ name: 'stops', type: 'array', items: to }], '/parameters/0/items/required'],
  ])('when what is required %s is no list', (_, parameters, pointer) => {
    expect(refusalsOf(parameters)).toEqual([`${pointer} must be a list of names`]);
  });
});

describe('a value is grounded in what the user has said', () => {
  const grounded = (value: unknown, ...said: string[]): boolean => {
    const members = argumentsOf({ value });
    return isGrounded(members.get('value') ?? null, collectMentions(said));
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
  ])('%j in "%s": %s', (value, said, expected) => {
    expect(grounded(value, said)).toBe(expected);
  });

  it('also when it was said earlier', () => {
    expect(grounded('Ada', 'I am Ada', 'send it to me')).toBe(true);
  });

  it('but not when its words were said in different messages', () => {
    expect(grounded('Ada Lovelace', 'I am Ada', 'not Lovelace')).toBe(false);
  });
});

describe('an insight', () => {
  const transfer = (consequential: boolean): Tool =>
    toolOf({
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
  const insight = (tool: Tool, args: object, said: string) =>
    createInsight(tool, validateCall('f', coerceArguments(argumentsOf(args), tool), tool, collectMentions([said])));

  it('takes the place of a call whose required value the user never said', () => {
    const made = insight(
      transfer(false),
      { amount: 500, recipient: 'Bob', account: 'main' },
      'transfer 500 to my friend',
    );
    expect(made).toMatchObject({
      tool: 'f',
      missing: [],
      invalid: [{ name: 'recipient', significance: 'who gets it', examples: ['Ada'] }],
    });
  });

  it('takes the place of a call with something missing', () => {
    expect(insight(transfer(false), { amount: 500, account: 'main' }, '500')).toMatchObject({
      missing: [{ name: 'recipient' }],
      invalid: [],
    });
  });

  it('is made of any issue of a consequential tool, and not of another', () => {
    const args = { amount: 500, recipient: 'Ada', account: 'main', note: 'rent' };
    expect(insight(transfer(true), args, '500 to Ada')).toMatchObject({ invalid: [{ name: 'note' }] });
    expect(insight(transfer(false), args, '500 to Ada')).toBeUndefined();
  });

  it('is not made of a call with nothing to find', () => {
    expect(insight(transfer(true), { amount: 500, recipient: 'Ada', account: 'main' }, '500 to Ada')).toBeUndefined();
  });

  it('shows a template no hidden parameter, and only what is to be asked for first', () => {
    const made = insight(transfer(true), {}, 'transfer something');
    expect(made?.missing.map(({ name }) => name)).toEqual(['amount', 'recipient', 'account']);
    expect(made && visibleInsight(made).missing.map(({ name }) => name)).toEqual(['recipient']);
  });
});
