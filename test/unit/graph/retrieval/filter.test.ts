import { describe, expect, it } from 'vitest';
import { readFilter } from '../../../../src/graph/retrieval/filter/readFilter.ts';
import { metadataFields } from '../../../../src/graph/retrieval/filter/filter.ts';
import type { KnowledgeEntry, KnowledgeField } from '../../../../src/graph/storage/knowledge/knowledge.ts';

const fields: readonly KnowledgeField[] = [
  { name: 'place', type: 'string' },
  { name: 'min_level', type: 'int' },
  { name: 'price', type: 'float' },
  { name: 'secret', type: 'bool' },
  { name: 'tags', type: 'set<string>' },
];
const smith: KnowledgeEntry['metadata'] = {
  place: 'Pellmoor',
  min_level: 3,
  price: 2.5,
  secret: false,
  tags: ['town', 'trade'],
};

function passes(
  filter: unknown,
  metadata: KnowledgeEntry['metadata'] = smith,
  variables: Readonly<Record<string, string>> = {},
): boolean {
  const reading = readFilter(filter, fields);
  if (!reading.ok) throw new Error(reading.errors.map(({ pointer, message }) => `${pointer} ${message}`).join());
  return reading.value.bind(variables)(metadataFields(metadata));
}

function errorOf(filter: unknown, declared: readonly KnowledgeField[] | undefined = fields): string {
  const reading = readFilter(filter, declared);
  const [error] = reading.ok ? [] : reading.errors;
  return error ? `${error.pointer} ${error.message}` : 'no error';
}

describe('a filter', () => {
  it.each([
    [{}, true],
    [{ place: 'Pellmoor' }, true],
    [{ place: 'pellmoor' }, false],
    [{ min_level: { $lte: 3 } }, true],
    [{ min_level: { $gt: 1, $lt: 3 } }, false],
    [{ price: { $gte: 2.5 } }, true],
    [{ secret: { $ne: true } }, true],
    [{ place: { $in: ['Istermouth', 'Pellmoor'] } }, true],
    [{ place: { $nin: ['Istermouth'] } }, true],
    [{ tags: { $contains: 'trade' } }, true],
    [{ tags: { $in: ['war', 'town'] } }, true],
    [{ tags: { $nin: ['war'] } }, true],
    [{ place: 'Pellmoor', min_level: { $gt: 5 } }, false],
    [{ $or: [{ min_level: { $gt: 5 } }, { place: 'Pellmoor' }] }, true],
    [{ $and: [{ min_level: { $gt: 5 } }, { place: 'Pellmoor' }] }, false],
    [{ $not: { min_level: { $gt: 5 } } }, true],
    [{ min_level: { $not: { $gt: 2 } } }, false],
  ])('%j holds for the smith: %s', (filter, expected) => {
    expect(passes(filter)).toBe(expected);
  });

  it.each([
    { min_level: 3 },
    { min_level: { $ne: 3 } },
    { min_level: { $nin: [3] } },
    { min_level: { $not: { $eq: 3 } } },
    { $not: { min_level: 3 } },
    { $not: { $or: [{ min_level: 3 }, { place: 'nowhere' }] } },
  ])('%j never holds for an entry without the field', (filter) => {
    expect(passes(filter, { place: 'Pellmoor' })).toBe(false);
  });

  it('holds when another branch does, though a field is missing', () => {
    expect(passes({ $or: [{ min_level: 3 }, { place: 'Pellmoor' }] }, { place: 'Pellmoor' })).toBe(true);
  });

  it('reads a variable as the type of the field', () => {
    const filter = { min_level: { $lte: { $variable: 'level' } } };
    expect([' 3', '2', '12.5', 'three', '', '1e3'].map((level) => passes(filter, smith, { level }))).toEqual([
      true,
      false,
      true,
      false,
      false,
      true,
    ]);
    expect(passes({ secret: { $variable: 'knows' } }, smith, { knows: 'false' })).toBe(true);
    expect(passes({ tags: { $contains: { $variable: 'job' } } }, smith, { job: 'trade' })).toBe(true);
    expect(passes({ place: { $in: ['a', { $variable: 'where' }] } }, smith, { where: 'Pellmoor' })).toBe(true);
  });

  it('holds for no entry when its variable is missing, nor does its negation', () => {
    const missing = { $variable: 'level' };
    expect(passes({ min_level: { $lte: missing } })).toBe(false);
    expect(passes({ min_level: { $ne: missing } })).toBe(false);
    expect(passes({ $not: { min_level: missing } })).toBe(false);
    expect(passes({ min_level: { $nin: [1, missing] } })).toBe(false);
    expect(passes({ min_level: { $in: [3, missing] } })).toBe(true);
    const undeclared = readFilter({ tags: { $ne: missing } }, undefined);
    expect(undeclared.ok && undeclared.value.bind({})(metadataFields(smith))).toBe(false);
  });

  it('names the variables that it needs', () => {
    const reading = readFilter({ a: { $variable: 'x' }, $or: [{ b: { $in: [{ $variable: 'y' }] } }] }, undefined);
    expect(reading.ok && [...reading.value.variables]).toEqual(['x', 'y']);
  });

  it.each([
    [{ min_levl: 3 }, '/min_levl is not among the fields of the storage; did you mean "min_level"?'],
    [{ $or: [{}, { min_level: { $lte: 'x' } }] }, '/$or/1/min_level/$lte must be a number or {"$variable": name}'],
    [
      { min_level: { $lteq: 3 } },
      '/min_level/$lteq is no operator (there are $eq, $ne, $gt, $gte, $lt, $lte, $contains, $in, $nin, $exists, $not); did you mean "$lte"?',
    ],
    [
      { min_level: { '': 3 } },
      '/min_level/ is no operator (there are $eq, $ne, $gt, $gte, $lt, $lte, $contains, $in, $nin, $exists, $not)',
    ],
    [{ $nor: [] }, '/$nor is no operator here; did you mean "$or"?'],
    [{ place: { $gt: 3 } }, '/place/$gt cannot compare "place", which is of the type string, by $gt'],
    [
      { tags: 'town' },
      '/tags cannot compare "tags", which is of the type set<string>, by $eq; use $contains, $in or $nin',
    ],
    [{ place: null }, '/place must be a string or {"$variable": name}'],
    [{ place: ['Pellmoor'] }, '/place must be a string or {"$variable": name}; a list goes with $in or $nin'],
    [{ place: { $in: 'Pellmoor' } }, '/place/$in must be a list of values'],
    [{ place: { $in: ['a', 3] } }, '/place/$in/1 must be a string or {"$variable": name}'],
    [
      { place: {} },
      '/place must have an operator: $eq, $ne, $gt, $gte, $lt, $lte, $contains, $in, $nin, $exists, $not',
    ],
    [{ $and: [] }, '/$and must be a list of filters, not empty'],
    [{ $not: 3 }, '/$not must be an object of conditions, as {"min_level": {"$lte": 12}}'],
    [{ place: { $variable: 3 } }, '/place must be a value or {"$variable": name}, the name of a variable'],
    [[], ' must be an object of conditions, as {"min_level": {"$lte": 12}}'],
  ])('%j is refused with the path', (filter, message) => {
    expect(errorOf(filter)).toBe(message);
  });
});

describe('a hostile filter', () => {
  const nested = (depth: number, innermost: unknown): unknown => {
    let filter = innermost;
    for (let level = 1; level < depth; level++) filter = { $and: [filter] };
    return filter;
  };

  it('is refused when it is nested too deeply', () => {
    expect(errorOf(nested(16, { place: 'Pellmoor' }))).toBe('no error');
    expect(errorOf(nested(17, { place: 'Pellmoor' }))).toMatch(/is nested deeper than 16/);
    expect(errorOf(nested(16, { place: { $not: { $eq: 'a' } } }))).toMatch(/is nested deeper than 16/);
    expect(errorOf(nested(100_000, {}))).toMatch(/is nested deeper than 16/);
  });

  it('is refused when it has too many conditions or values', () => {
    const many = (count: number): unknown[] => Array.from({ length: count }, () => ({ min_level: 1 }));
    expect(errorOf({ $or: many(128) })).toBe('no error');
    expect(errorOf({ $or: many(100_000) })).toBe('/$or is beyond the 256 conditions that a filter may have');
    expect(errorOf({ $or: many(200) })).toMatch(/is beyond the 256 conditions/);
    const values = Array.from({ length: 1001 }, (_, index) => index);
    expect(errorOf({ min_level: { $in: values } })).toBe('/min_level/$in has 1001 values, and 1000 are allowed');
  });

  it('cannot reach a prototype', () => {
    const empty = JSON.parse('{"__proto__": {"$ne": 1}}') as unknown;
    expect(errorOf(empty, undefined)).toBe('/__proto__ is the name of no field');
    for (const name of ['constructor', 'toString', 'hasOwnProperty']) {
      expect(errorOf({ [name]: { $ne: 'x' } })).toMatch(/is not among the fields/);
      const reading = readFilter({ [name]: { $ne: 'x' } }, undefined);
      expect(reading.ok && reading.value.bind({})(metadataFields({}))).toBe(false);
      expect(errorOf({ place: { [name]: 1 } })).toMatch(/is no operator/);
      const variable = readFilter({ place: { $ne: { $variable: name } } }, undefined);
      expect(variable.ok && variable.value.bind({})(metadataFields({ place: 'a' }))).toBe(false);
    }
  });
});
