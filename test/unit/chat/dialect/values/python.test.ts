import { describe, expect, it } from 'vitest';
import { pythonLayout, readArguments } from '../../../../helpers/parameterLayouts.ts';

const read = (text: string, after = ')'): unknown => readArguments(text, { layout: pythonLayout, after });

describe('parameters of a Python call', () => {
  it.each([
    [`(a="x", b=1, c=True, d=None)`, { a: 'x', b: 1, c: true, d: null }],
    [`(e={"k": true, 'n': null}, l=['a', "b", (1, 2)])`, { e: { k: true, n: null }, l: ['a', 'b', [1, 2]] }],
    [`(a=-1.5, b=1e5, c=.5, d=1_000, e=+2)`, { a: -1.5, b: 1e5, c: 0.5, d: 1000, e: 2 }],
    [`( a = 'x' ,\n b = [ ] )`, { a: 'x', b: [] }],
    [`(first-name='Ada', last.name='O'Hara', $id='x')`, { 'first-name': 'Ada', 'last.name': "O'Hara", $id: 'x' }],
    ['()', {}],
  ])('%s', (text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  it.each([
    [String.raw`('a\nb\t\"c\" \'d\' \\ \u00e9')`, 'a\nb\t"c" \'d\' \\ é'],
    [String.raw`('\d+\.\w')`, String.raw`\d+\.\w`],
    ['(\'line\n  "two"\')', 'line\n  "two"'],
    [`("""a "quoted"\nword""")`, 'a "quoted"\nword'],
    [`('')`, ''],
    [`("")`, ''],
  ])('decode the string %s', (text, value) => {
    expect(read(text.replace('(', '(a='))).toEqual({ a: value });
  });

  it.each([
    [`(a='it's')`, "it's"],
    [`(a='it's "fine"')`, 'it\'s "fine"'],
    [`(a='rock 'n' roll')`, "rock 'n' roll"],
    [`(a='rock 'n', roll')`, "rock 'n', roll"],
    [`(a='she said 'no', then left')`, "she said 'no', then left"],
    [`(a="print("hi")")`, 'print("hi")'],
    [`(a='{'k': 'v'}')`, "{'k': 'v'}"],
    [`(a='f(x='y')')`, "f(x='y')"],
  ])('%s: quotes within a string need no escape', (text, value) => {
    expect(read(text)).toEqual({ a: value });
  });

  it.each([
    [String.raw`(a=r'C:\new', b=R"\d+")`.replaceAll('\\\\', '\\'), { a: String.raw`C:\new`, b: String.raw`\d+` }],
    [`(a=b'raw', b=u"x")`, { a: 'raw', b: 'x' }],
    [`(a=f'plain', b=f"{{x}}")`, { a: 'plain', b: '{x}' }],
    [`(a='one ' 'two', b="x"\n  "y")`, { a: 'one two', b: 'xy' }],
    [`(a='one' + ' two' + "!", b=['x' + 'y', 'z'])`, { a: 'one two!', b: ['xy', 'z'] }],
    [`(a={1, 2}, b={'x', 'y'}, c={'z'}, d=set())`, { a: [1, 2], b: ['x', 'y'], c: ['z'], d: [] }],
    [
      `(a=dict(b=1, c='x'), d=dict(), e=list((1, 2)), f=tuple([3]), g=set([4]))`,
      { a: { b: 1, c: 'x' }, d: {}, e: [1, 2], f: [3], g: [4] },
    ],
    [`(a=(1,), b=(), c={(1, 2), (3,)})`, { a: [1], b: [], c: [[1, 2], [3]] }],
    [`(a={'k': {'x'}, 'l': {}})`, { a: { k: ['x'], l: {} } }],
  ])('%s is what Python makes of it', (text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  it.each([
    `(a=f'{name}')`,
    `(a='x'.upper())`,
    `(a='x' + name)`,
    `(a=datetime(2024, 1, 1))`,
    `(a=[x for x in y])`,
    `(a=items[0])`,
    `(a=lambda x: x)`,
    `(a=dict(b))`,
    `(a={**b})`,
  ])('%s is no value', (text) => {
    expect(read(text)).toBe('unreadable');
  });

  it('hold unescaped quotes in lists and dicts too', () => {
    expect(read(`(a=['it's', 'Bob's'], b={'k': 'it's', 'o'k': 1})`)).toEqual({
      a: ["it's", "Bob's"],
      b: { k: "it's", "o'k": 1 },
    });
  });

  it('decode the escapes of JSON in JSON', () => {
    expect(read(String.raw`(a={"k": "\b\/\u00e9"})`)).toEqual({ a: { k: '\b/é' } });
  });

  it.each([
    ['text without quotes', '(a=Paris, b=[x, 1])', { a: 'Paris', b: ['x', 1] }],
    ['a comma too many', '(a=1,)', { a: 1 }],
    ['a missing comma', '(a=[1] b=2)', { a: [1], b: 2 }],
    ['a backslash before the closing quote', String.raw`(a='C:\')`, { a: 'C:\\' }],
  ])('are repaired: %s', (_, text, expected) => {
    expect(read(text)).toEqual({ ...expected, repaired: true });
  });

  it('end where their call ends', () => {
    expect(read(`(a='x'), g(a='y')]`)).toEqual({ a: 'x', rest: "), g(a='y')]" });
  });

  it('are truncated where the text ends in a string, a list or a dict', () => {
    for (const text of ['(a', '(a=', "(a='x", "(a='it's", '(a=[1,', '(a={"k"', '(a={"k": ', "(a='x', b"]) {
      expect(read(text), text).toBe('truncated');
    }
    expect(read('{a:1}')).toBe('unreadable');
  });
});
