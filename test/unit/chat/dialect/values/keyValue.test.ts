import { describe, expect, it } from 'vitest';
import { keyValueLayout, readArguments } from '../../../../helpers/parameterLayouts.ts';

const read = (text: string): unknown => readArguments(text, { layout: keyValueLayout, after: '}<call|>' });

describe('key-value parameters', () => {
  it.each([
    ['{city:<|s|>Zürich<|s|>}<call|>', { city: 'Zürich' }],
    [
      '{n:-7,x:3.25,big:1.5e10,on:true,off:false,none:null}<call|>',
      { n: -7, x: 3.25, big: 1.5e10, on: true, off: false, none: null },
    ],
    ['{on:True,none:None}<call|>', { on: true, none: null }],
    [
      '{c:{theme:<|s|>dark<|s|>,sizes:[1,2],deep:{a:[]}}}<call|>',
      { c: { theme: 'dark', sizes: [1, 2], deep: { a: [] } } },
    ],
    ['{l:[<|s|>a, b]<|s|>,<|s|>{c}<|s|>],o:{}}<call|>', { l: ['a, b]', '{c}'], o: {} }],
    ['{a:<|s|>"it\'s",\n{x:1}<|s|>}<call|>', { a: '"it\'s",\n{x:1}' }],
    ['{ a : <|s|>x<|s|> , b : [ 1 , 2 ] }<call|>', { a: 'x', b: [1, 2] }],
    ['{"a":1,<|s|>b<|s|>:2,c:{<|s|>d e<|s|>:3}}<call|>', { a: 1, b: 2, c: { 'd e': 3 } }],
    ['{}<call|>', {}],
    ['{ }<call|>', {}],
  ])('%s', (text, expected) => {
    expect(read(text)).toEqual(expected);
  });

  it.each([
    ['a string in JSON', '{a:"x\\ny",b:[\'z\']}<call|>', { a: 'x\ny', b: ['z'] }],
    ['a string without marks', '{a:New York,b:{c:warm}}<call|>', { a: 'New York', b: { c: 'warm' } }],
    ['a string whose closing mark is missing', '{a:<|s|>London}<call|>', { a: 'London' }],
    ['a comma too many', '{a:1,}<call|>', { a: 1 }],
    ['a missing comma', '{a:<|s|>x<|s|> b:2}<call|>', { a: 'x', b: 2 }],
    ['a parameter twice', '{a:1,a:2}<call|>', { a: 2 }],
  ])('are repaired: %s', (_, text, expected) => {
    expect(read(text)).toEqual({ ...expected, repaired: true });
  });

  it('do not take the string of the next call for the end of an unclosed one', () => {
    expect(read('{a:<|s|>London}<call|>{b:<|s|>Paris<|s|>}<call|>')).toEqual({
      a: 'London',
      repaired: true,
      rest: '}<call|>{b:<|s|>Paris<|s|>}<call|>',
    });
  });

  it('are truncated where the text ends in a string, a list or an object', () => {
    for (const text of ['{a', '{a:', '{a:<|s|>Lon', '{a:[1,', '{a:{b', '{a:{b:1', '{a:<|s|>x<|s|>,b']) {
      expect(read(text), text).toBe('truncated');
    }
    expect(read('(a=1)')).toBe('unreadable');
  });
});
