import { describe, expect, it } from 'vitest';
import { areDisjoint } from '../../../../../src/chat/grammar/jsonSchema/fromSchema.ts';
import { objectSchema } from '../../../../helpers/grammarRules.ts';

const range = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);
const kind = (value: unknown): object => objectSchema({ kind: { const: value }, size: { type: 'integer' } });
// Without a type, which JSON Schema then leaves open; a grammar writes objects only.
const untyped = (value: unknown): object => ({ properties: { kind: { const: value } }, required: ['kind'] });

describe.each([
  ['a few', 3],
  ['hundreds of', 200],
])('%s schemas', (_, count) => {
  it.each<[string, readonly unknown[], boolean]>([
    ['constants that differ', range(count).map((index) => ({ const: index })), true],
    ['a constant that is there twice', [...range(count).map((index) => ({ const: index })), { const: 1 }], false],
    ['lists of values that differ', range(count).map((index) => ({ enum: [index, `${index}`] })), true],
    ['lists with a value in common', range(count).map((index) => ({ enum: [index, 'same'] })), false],
    ['constants and another type', [...range(count).map((index) => ({ const: index })), { type: 'string' }], true],
    ['constants and their type', [...range(count).map((index) => ({ const: index })), { type: 'integer' }], false],
    ['constants and anything', [...range(count).map((index) => ({ const: index })), {}], false],
    ['objects with a property that differs', range(count).map(kind), true],
    ['objects with a property that is the same twice', [...range(count).map(kind), kind(1)], false],
    ['objects and a string', [...range(count).map(kind), { type: 'string' }], true],
    ['objects and a string or an object', [...range(count).map(kind), { type: ['string', 'object'] }], false],
    [
      'objects that may be null, with a property that differs',
      range(count).map((index) => ({ ...kind(index), type: ['object', 'null'] })),
      false,
    ],
    ['objects that do not say so, with a property that differs', range(count).map(untyped), true],
    ['such objects and a string, which they match', [...range(count).map(untyped), { type: 'string' }], false],
    ['such objects and a constant, which they match', [...range(count).map(untyped), { const: 'none' }], false],
    [
      'objects with a nested property that differs',
      range(count).map((index) => objectSchema({ a: objectSchema({ kind: { const: index } }) })),
      true,
    ],
    [
      'objects with a property that differs and may be absent',
      range(count).map((index) => objectSchema({ kind: { const: index } }, [])),
      false,
    ],
    ['the same type', range(count).map(() => ({ type: 'integer' })), false],
    ['something that is no schema', [...range(count).map((index) => ({ const: index })), null], false],
  ])('are compared: %s', (_name, schemas, expected) => {
    expect(areDisjoint(schemas)).toBe(expected);
  });
});

describe('schemas', () => {
  it.each([
    [
      'constants',
      (index: number, read: () => void) => ({
        type: 'integer',
        get const() {
          return (read(), index);
        },
      }),
    ],
    [
      'objects with a constant',
      (index: number, read: () => void) =>
        objectSchema({
          kind: {
            get const() {
              return (read(), index);
            },
          },
        }),
    ],
  ])('are read once each: %s', (_, create) => {
    const readsOf = (count: number): number => {
      let reads = 0;
      expect(areDisjoint(range(count).map((index) => create(index, () => reads++)))).toBe(true);
      return reads;
    };
    expect(readsOf(2000)).toBeLessThan(3 * readsOf(1000));
  });
});
