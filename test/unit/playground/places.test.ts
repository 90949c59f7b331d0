import { describe, expect, it } from 'vitest';
import { faultsByNode, faultsWithin, warningPointer } from '../../../playground/src/document/faultPlace.ts';
import { pointerAt, pointerRange } from '../../../playground/src/document/pointerRange.ts';
import { textChange } from '../../../playground/src/inspector/textChange.ts';
import { jsonTokens } from '../../../playground/src/inspector/jsonTokens.ts';

const text = '{ "nodes": { "a/b": { "type": "Generate", "exits": { "default": "x" }, "list": [1, 22] } } }';
const part = (pointer: string): string => {
  const { from, to } = pointerRange(text, pointer);
  return text.slice(from, to);
};

describe('a JSON pointer', () => {
  it.each([
    ['of a value is the value', '/nodes/a~1b/type', '"Generate"'],
    ['of an entry of a list is the entry', '/nodes/a~1b/list/1', '22'],
    ['of an object is its key', '/nodes/a~1b/exits', '"exits"'],
    ['of a value that is missing is what would contain it', '/nodes/a~1b/params/tools', '"a/b"'],
    ['of the document is its first bracket', '', '{'],
  ])('%s in the text', (_, pointer, expected) => {
    expect(part(pointer)).toBe(expected);
  });

  it('is found for a place in the text', () => {
    expect(pointerAt(text, text.indexOf('22') + 1)).toBe('/nodes/a~1b/list/1');
    expect(pointerAt('', 0)).toBe('');
  });
});

describe('a warning of the server', () => {
  const names = ['a', 'a.b', 'route', 'odd name'];
  it.each([
    ['a is unreachable: no exit leads to it', '/nodes/a'],
    ['a.b is unreachable: no exit leads to it', '/nodes/a.b'],
    ['route.params.labels[0].patterns[1] matches every text', '/nodes/route/params/labels/0/patterns/1'],
    ['route.exits.not_matched can end a turn', '/nodes/route/exits/not_matched'],
    ['odd name, a: no exit ends the turn from there', '/nodes/odd name'],
    ['another is unreachable', ''],
  ])('%s: has its place', (message, pointer) => {
    expect(warningPointer(message, names)).toBe(pointer);
  });
});

describe('faults', () => {
  const fault = (pointer: string) => ({ pointer, message: pointer, severity: 'error' as const });
  it('belong to the value of their pointer and to what contains it', () => {
    const faults = [fault('/nodes/a'), fault('/nodes/a/params/x'), fault('/nodes/ab')];
    expect(faultsWithin(faults, '/nodes/a')).toEqual(faults.slice(0, 2));
  });

  it('belong to nodes', () => {
    const faults = [fault('/nodes/a~1b/exits/x'), fault('/start_node')];
    expect([...faultsByNode(faults)].map(([name, { length }]) => [name, length])).toEqual([
      ['a/b', 1],
      ['', 1],
    ]);
  });
});

describe('the smallest change of a text', () => {
  it.each([
    ['abc', 'abc', undefined],
    ['abc', 'aXc', { from: 1, to: 2, insert: 'X' }],
    ['aa', 'aaa', { from: 2, to: 2, insert: 'a' }],
    ['abab', 'ab', { from: 2, to: 4, insert: '' }],
  ])('from %j to %j', (before, after, change) => {
    expect(textChange(before, after)).toEqual(change);
    if (change) expect(before.slice(0, change.from) + change.insert + before.slice(change.to)).toBe(after);
  });
});

describe('the tokens of a JSON text', () => {
  it('tell names from strings, and bear faults', () => {
    const tokens = jsonTokens('"a": "b", 1 true ?', 10);
    expect(tokens.map(({ kind }) => kind)).toEqual(['key', 'string', 'number', 'word', 'invalid']);
    expect(tokens[0]).toEqual({ from: 10, to: 13, kind: 'key' });
  });
});
