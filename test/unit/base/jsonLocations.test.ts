import { describe, expect, it } from 'vitest';
import { parseGraph } from '../../../src/graph/compile/graphFolder.ts';
import { parseHistory } from '../../../src/graph/agent/history.ts';
import { parseCatalogue } from '../../../src/inference/models/catalogue/catalogue.ts';
import { readMockScript } from '../../../src/inference/mock/script.ts';
import { parseJson } from '../../../src/base/jsonLocations.ts';
import { expectLinearTime } from '../../helpers/linearTime.ts';

const parse = (text: string): unknown => parseJson(text, (problem) => new Error(`it ${problem}`));

describe('a byte order mark', () => {
  it.each([
    ['a mock script', (mark: string) => readMockScript(`${mark}[{"answer":"Hi."}]`, 'mock.json')[0]?.reply?.answer],
    ['a history', (mark: string) => parseHistory(`${mark}[{"user":"a","assistant":"b"}]`)[0]?.user],
    ['a graph', (mark: string) => parseGraph(`${mark}{"start_node":"a"}`, 'graph')],
    ['any JSON', (mark: string) => parse(`${mark}\n{"a":[1]}`)],
  ])('may begin %s', (_, read) => {
    expect(read('\ufeff')).toEqual(read(''));
    expect(() => read('\ufeff\ufeff')).toThrow(/is not valid JSON at 1:1/);
  });
});

describe('a name that an object has twice', () => {
  it('is found in linear time where many of them are in a member with a long name', async () => {
    await expectLinearTime((times) => {
      const name = 'k'.repeat(10_000 * times);
      const text = `{"${name}":{${Array(500 * times)
        .fill('"a":1')
        .join(',')}}}`;
      expect(() => parseGraph(text, 'graph')).toThrow(
        `graph has the name "a" twice in one object at 1:${name.length + 12}`,
      );
    });
  });
});

describe('half of a surrogate pair', () => {
  it.each([
    ['{"a":"\\ud800"}', '1:7', '\\ud800'],
    ['{"a":\n ["x\\uD83D y"]}', '2:5', '\\uD83D'],
    ['{"\\udc00":1}', '1:3', '\\udc00'],
    ['["\\ude00\\ud83d"]', '1:3', '\\ude00'],
    ['["\\\\\\\\ \\ud83d\\ud83d\\ude00"]', '1:8', '\\ud83d'],
    ['["😀\udc00"]', '1:5', '\\udc00'],
  ])('is refused with its place: %j', (text, place, half) => {
    expect(() => parse(text)).toThrow(
      `it is not valid JSON at ${place}: half of a surrogate pair, ${half}; write both halves`,
    );
  });

  it.each(['["\\ud83d\\ude00"]', '["😀"]', '["\\\\ud800"]', '["\\\\\\ud83d\\ude00"]', '["\\u0061\\ufeff"]'])(
    'is not a whole pair or an escaped backslash: %s',
    (text) => {
      expect(parse(text)).toEqual(JSON.parse(text));
    },
  );

  it.each([
    ['a mock script', () => readMockScript('[{"answer":"\\ud800"}]', 'mock.json')],
    ['a history', () => parseHistory('[{"user":"\\udfff","assistant":"b"}]')],
    ['a graph', () => parseGraph('{"start_node":"\\ud800"}', 'graph')],
    ['a catalogue', () => parseCatalogue('{"models":[{"name":"\\ud800"}]}', '/models.json')],
  ])('is refused in %s', (_, read) => {
    expect(read).toThrow(/1:\d+.*half of a surrogate pair/);
  });
});

// JSON.parse reads it as Infinity, which JSON.stringify writes as null.
describe('a number beyond the range of a double', () => {
  it.each([
    ['{"a":1e999}', '1:6'],
    ['[1,\n -1e400]', '2:2'],
    ['{"1e999":"1e999 \\" 1e999","b":[{"c":0.2E+309}]}', '1:37'],
    ['1e309', '1:1'],
    [`[${'9'.repeat(310)}]`, '1:2'],
    [`[${'9'.repeat(10)}e300]`, '1:2'],
  ])('is refused with its place: %j', (text, place) => {
    expect(() => parse(text)).toThrow(`it is not valid JSON at ${place}: a number beyond 1.8e308`);
  });

  it.each([
    '[1.7e308]',
    '[1e-999]',
    '["1e999"]',
    '{"1e999":0}',
    '[0e999]',
    `["${'9'.repeat(400)}"]`,
    `0.${'9'.repeat(400)}`,
  ])('is not a text of digits, or a number near zero: %s', (text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  it.each([
    ['a mock script', () => readMockScript('[{"answer":"a","deltas":[1e999]}]', 'mock.json')],
    ['a history', () => parseHistory('[{"user":"a","assistant":1e999}]')],
    ['a graph', () => parseGraph('{"start_node":"a","nodes":[{"temperature":1e999}]}', 'graph')],
    ['a catalogue', () => parseCatalogue('{"models":[{"name":1e999}]}', '/models.json')],
  ])('is refused in %s', (_, read) => {
    expect(read).toThrow(/1:\d+: .*a number beyond 1\.8e308/);
  });
});
