import { describe, expect, it } from 'vitest';
import { JsonNumber } from '../../../../../src/chat/json/value.ts';
import { SearchedText } from '../../../../../src/chat/markSearch.ts';
import { ParameterReader } from '../../../../../src/chat/dialect/values/parameterList.ts';
import { resolvedParameters } from '../../../../../src/chat/tools/resolvedSchema.ts';
import {
  argumentsSchema,
  linesLayout,
  pairsLayout,
  readArguments,
  typedLayout,
  type Properties,
} from '../../../../helpers/parameterLayouts.ts';

const after = '</call>';
const read = (text: string, properties?: Properties, layout = linesLayout): unknown =>
  readArguments(text, { layout, after, properties });

const one = (value: string): string => `\n<arg=a>\n${value}\n</arg>\n</call>`;

describe('a value between marks', () => {
  it.each([
    // Strings stay as they are, whatever they look like.
    ['5123123', { type: 'string' }, '5123123'],
    ['"foo"', { type: 'string' }, '"foo"'],
    ['\n  two\n\nlines \n', { type: 'string' }, '\n  two\n\nlines \n'],
    ['', { type: 'string' }, ''],
    ['{"a": 1}', { type: 'string' }, '{"a": 1}'],
    ['a </arg> b', { type: 'string' }, 'a </arg> b'],
    ['a </call> b', { type: 'string' }, 'a </call> b'],
    ['celsius', { enum: ['celsius', 'kelvin'] }, 'celsius'],
    ['1', { enum: ['1', '2'] }, '1'],
    ['on', { const: 'on' }, 'on'],
    // JSON for all other types.
    ['42', { type: 'integer' }, 42],
    ['-1.5e3', { type: 'number' }, -1500],
    ['True', { type: 'boolean' }, true],
    ['false', { type: 'boolean' }, false],
    ['None', { type: 'null' }, null],
    ['[1, "x</arg>\\n</call>"]', { type: 'array' }, [1, 'x</arg>\n</call>']],
    ['{"a": {"b": null}}', { type: 'object' }, { a: { b: null } }],
    ['{"a": 1}', { properties: { a: {} } }, { a: 1 }],
    ['[]', { items: {} }, []],
    ['2', { enum: [1, 2] }, 2],
    // Where it could be both, what is JSON of another type is no string.
    ['null', { type: ['string', 'null'] }, null],
    ['None', { type: ['null', 'string'] }, null],
    ['nothing', { type: ['string', 'null'] }, 'nothing'],
    ['42', { type: ['string', 'null'] }, '42'],
    ['42', { type: ['integer', 'null'] }, 42],
    ['42', { type: ['integer', 'string'] }, 42],
    ['[1]', { anyOf: [{ type: 'string' }, { type: 'array' }] }, [1]],
    ['[1', { anyOf: [{ type: 'string' }, { type: 'array' }] }, '[1'],
    ['hello', { oneOf: [{ const: 'hello' }, { type: 'integer' }] }, 'hello'],
    ['7', {}, 7],
    ['7 days', {}, '7 days'],
    ['"quoted"', {}, '"quoted"'],
    ['seven', { type: 'integer' }, 'seven'],
    // What a CDATA section holds.
    ['<![CDATA[if (a < b) { "c" }]]>', { type: 'string' }, 'if (a < b) { "c" }'],
    ['<![CDATA[42]]>', {}, '42'],
    ['<![CDATA[42]]>', { type: 'integer' }, 42],
    ['<![CDATA[42]]> left', { type: 'string' }, '<![CDATA[42]]> left'],
  ])('%j under %j is %j', (text, schema, value) => {
    expect(read(one(text), { a: schema })).toEqual({ a: value });
  });

  it.each([
    ["{'a': True, }", { type: 'object' }, { a: true }],
    ["['x']", { type: ['array', 'string'] }, ['x']],
    [' kelvin ', { enum: ['celsius', 'kelvin'] }, 'kelvin'],
  ])('%j under %j is repaired to %j', (text, schema, value) => {
    expect(read(one(text), { a: schema })).toEqual({ a: value, repaired: true });
  });

  it.each([
    ['null', { type: 'string' }, [], null],
    ['None', { type: 'string' }, [], null],
    ['None', { type: 'string', default: null }, ['a'], null],
    ['None', { anyOf: [{ type: 'string' }, { type: 'null' }] }, ['a'], null],
    ['null', { type: 'string' }, ['a'], 'null'],
    ['null', { enum: ['null', 'one'] }, [], 'null'],
    ['null', { type: 'string', default: 'null' }, [], 'null'],
    ['None', { type: 'string', default: 'null' }, [], null],
    ['nullable', { type: 'string' }, [], 'nullable'],
    ['[]', { type: 'array' }, [], []],
  ])('%j under %j, of which %j is required, is %j', (text, schema, required, value) => {
    const result = new ParameterReader(new SearchedText(one(text)), {
      layout: linesLayout,
      after,
      schema: resolvedParameters({ parameters: argumentsSchema({ a: schema }, required) }),
    }).read(0);
    expect(result.ok && result.arguments.get('a')).toEqual(value);
  });

  it('keeps the digits of a number', () => {
    const source = new SearchedText(one('12345678901234567890'));
    const result = new ParameterReader(source, { layout: linesLayout, after, schema: undefined }).read(0);
    expect(result.ok && result.arguments.get('a')).toEqual(new JsonNumber('12345678901234567890'));
  });

  it('has the white space of its marks, or none', () => {
    expect(read('<arg=a>x</arg><arg=b> y </arg></call>', { a: { type: 'string' }, b: { type: 'string' } })).toEqual({
      a: 'x',
      b: ' y ',
    });
    const layout = pairsLayout;
    expect(read('<k>a</k>\n\n<v>x</v>\n\n<k>b</k><v>y</v></call>', undefined, layout)).toEqual({ a: 'x', b: 'y' });
    expect(read('<k>a</k><v>\tx\r\n</v><k>b</k><v>\n</v></call>', undefined, layout)).toEqual({
      a: '\tx\r\n',
      b: '\n',
    });
  });

  it('is a string or not as the marks say, where they do', () => {
    const text = '<p name="a" text="yes">1</p>\n<p name="b" text="no">1</p>\n<p name="c" text="yes">\nx\n</p>\n</call>';
    expect(read(text, { a: { type: 'integer' } }, typedLayout)).toEqual({ a: '1', b: 1, c: '\nx\n' });
  });

  it('ends at the next parameter or the end of all where its own mark is missing', () => {
    const properties = { a: { type: 'string' }, b: { type: 'integer' } };
    expect(read('\n<arg=a>\nx\n<arg=b>\n2\n</arg>\n</call>', properties)).toEqual({ a: 'x', b: 2, repaired: true });
    expect(read('\n<arg=a>\nx\n</call>', properties)).toEqual({ a: 'x', repaired: true });
    // A parameter that nobody declared, or that was read before, is text.
    expect(read(one('x <arg=c> y'), properties)).toEqual({ a: 'x <arg=c> y' });
    expect(read(one('x <arg=a> y'), properties)).toEqual({ a: 'x <arg=a> y' });
  });

  it('does not swallow what follows where the end of all is missing', () => {
    expect(read('<arg=a>1</arg></calls><call=g><arg=a>2</arg></call>', undefined)).toEqual({
      a: 1,
      rest: '</calls><call=g><arg=a>2</arg></call>',
    });
  });
});

describe('parameters between marks', () => {
  it('come in any order; of two of one name the last one counts', () => {
    expect(read('<arg=b>1</arg><arg=a>2</arg></call>', undefined)).toEqual({ b: 1, a: 2 });
    expect(read('<arg=a>1</arg><arg=a>2</arg></call>', undefined)).toEqual({ a: 2, repaired: true });
  });

  it('may be none', () => {
    expect(read('</call>', {})).toEqual({});
    expect(read('\n</call>', {})).toEqual({});
  });

  it('are cut wherever the text ends', () => {
    const text = '\n<arg=a>\nsome\n</arg>';
    for (let length = 2; length < text.length; length++) {
      expect(read(text.slice(0, length), undefined), text.slice(0, length)).toEqual('truncated');
    }
  });

  it('are read in linear time, however often a mark comes again', () => {
    const repeated = '<arg=a>\n'.repeat(16_000);
    expect(read(`${repeated}</call>`, { a: {}, b: {} })).toEqual({ a: '', repaired: true });
    expect(read(repeated, { a: {}, b: {} })).toBe('truncated');
    expect(read(`<arg=a>${'</arg>'.repeat(16_000)}</call>`, { a: {} })).toEqual({ a: '</arg>'.repeat(15_999) });
  });
});
