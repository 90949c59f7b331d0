import { describe, expect, it } from 'vitest';
import { createRng, type Rng } from '../../../../scripts/seededRandom.mjs';
import { readFilter } from '../../../../src/graph/retrieval/filter/readFilter.ts';
import { metadataFields } from '../../../../src/graph/retrieval/filter/filter.ts';
import type { KnowledgeField, MetadataValue } from '../../../../src/graph/storage/knowledge/knowledge.ts';
import { scaled } from '../../../helpers/depth.ts';

const fields: readonly KnowledgeField[] = [
  { name: 'level', type: 'int' },
  { name: 'price', type: 'float' },
  { name: 'place', type: 'string' },
  { name: 'secret', type: 'bool' },
  { name: 'tags', type: 'set<string>' },
];
const places = ['lake', 'abbey', 'true', '2', ''];
const numbers = [-1, 0, 1, 2, 2.5, 3];
const variables = { level: '2', price: ' 2.5 ', word: 'lake', secret: 'true', nonsense: 'two', empty: '' };
const variableNames = [...Object.keys(variables), 'missing'];

type Plain = Readonly<Record<string, unknown>>;

/** Draws filters that are valid: for declared fields, or for any of them. */
class FilterMaker {
  readonly #random: Rng;
  readonly #isDeclared: boolean;

  constructor(random: Rng, isDeclared: boolean) {
    this.#random = random;
    this.#isDeclared = isDeclared;
  }

  filter(depth: number): Plain {
    return this.#object(this.#count(0, 2), () => {
      const kind = this.#count(0, depth > 0 ? 5 : 2);
      if (kind === 3) return ['$not', this.filter(depth - 1)];
      if (kind > 3) return [kind === 4 ? '$and' : '$or', this.#list(1, 3, () => this.filter(depth - 1))];
      const field = this.#random.pick(fields);
      return [field.name, this.#condition(field, depth)];
    });
  }

  metadata(): Readonly<Record<string, MetadataValue>> {
    const held: Record<string, MetadataValue> = {};
    for (const field of fields)
      if (this.#random.chance(0.7)) {
        const { type } = this.#isDeclared ? field : this.#random.pick(fields);
        held[field.name] =
          type === 'set<string>' ? this.#list(0, 3, () => this.#random.pick(places)) : this.#literal(type);
      }
    return held;
  }

  #condition(field: KnowledgeField, depth: number): unknown {
    const { type } = this.#isDeclared ? field : this.#random.pick(fields);
    if (type !== 'set<string>' && this.#random.chance(0.2)) return this.#value(type);
    return this.#object(this.#count(1, 2), () => {
      const operators =
        type === 'set<string>'
          ? ['$contains', '$in', '$nin']
          : [
              '$eq',
              '$ne',
              '$in',
              '$nin',
              ...(typeof this.#literal(type) === 'number' ? ['$gt', '$gte', '$lt', '$lte'] : []),
            ];
      const operator = depth > 0 && this.#random.chance(0.15) ? '$not' : this.#random.pick(operators);
      if (operator === '$not') {
        const inner = this.#condition(field, 0);
        return ['$not', typeof inner === 'object' && !('$variable' in (inner as object)) ? inner : { $ne: inner }];
      }
      return [operator, operator.endsWith('in') ? this.#list(0, 3, () => this.#value(type)) : this.#value(type)];
    });
  }

  #value(type: KnowledgeField['type']): unknown {
    return this.#random.chance(0.25) ? { $variable: this.#random.pick(variableNames) } : this.#literal(type);
  }

  #literal(type: KnowledgeField['type']): string | number | boolean {
    if (type === 'bool') return this.#random.chance(0.5);
    if (type === 'int') return this.#random.pick([0, 1, 2, 3]);
    return type === 'float' ? this.#random.pick(numbers) : this.#random.pick(places);
  }

  #object(count: number, member: () => readonly [string, unknown]): Plain {
    return Object.fromEntries(Array.from({ length: count }, member));
  }

  #list<T>(min: number, max: number, item: () => T): T[] {
    return Array.from({ length: this.#count(min, max) }, item);
  }

  #count(min: number, max: number): number {
    return min + this.#random.below(max - min + 1);
  }
}

/**
 * A second, plain evaluation: negations are pushed down to the comparisons, and a comparison that cannot be made, for want of
 * the field or of the variable, is false whether it is negated or not.
 */
function holds(filter: Plain, metadata: Readonly<Record<string, MetadataValue>>, isNegated = false): boolean {
  const parts = Object.entries(filter).map(([name, value]) => {
    if (name === '$not') return holds(value as Plain, metadata, !isNegated);
    if (name === '$and' || name === '$or') {
      const each = (value as readonly Plain[]).map((part) => holds(part, metadata, isNegated));
      return (name === '$and') === isNegated ? each.some(Boolean) : each.every(Boolean);
    }
    return fieldHolds(metadata[name], value, isNegated);
  });
  return isNegated ? parts.some(Boolean) : parts.every(Boolean);
}

function fieldHolds(held: MetadataValue | undefined, value: unknown, isNegated: boolean): boolean {
  const isOperators = typeof value === 'object' && value !== null && !('$variable' in value);
  const parts = Object.entries(isOperators ? value : { $eq: value }).map(([operator, operand]) =>
    operator === '$not'
      ? fieldHolds(held, operand, !isNegated)
      : held !== undefined && comparisonHolds(held, operator, operand, isNegated),
  );
  return isNegated ? parts.some(Boolean) : parts.every(Boolean);
}

function comparisonHolds(held: MetadataValue, operator: string, operand: unknown, isNegated: boolean): boolean {
  if (operator === '$ne') return comparisonHolds(held, '$eq', operand, !isNegated);
  if (operator === '$nin') return comparisonHolds(held, '$in', operand, !isNegated);
  if (operator === '$in') {
    const each = (operand as readonly unknown[]).map((item) =>
      Array.isArray(held)
        ? comparisonHolds(held, '$contains', item, isNegated)
        : comparisonHolds(held, '$eq', item, isNegated),
    );
    return isNegated ? each.every(Boolean) : each.some(Boolean);
  }
  const wanted = operator === '$contains' ? 'string' : operator === '$eq' ? typeof held : 'number';
  // A list equals no value.
  if (operator === '$eq' && Array.isArray(held)) return isNegated && resolve(operand, 'string') !== undefined;
  const value = resolve(operand, wanted);
  if (value === undefined) return false;
  return compare(held, operator, value) !== isNegated;
}

function compare(held: MetadataValue, operator: string, value: unknown): boolean {
  if (operator === '$eq') return held === value;
  if (operator === '$contains') return Array.isArray(held) && held.some((item) => item === value);
  if (typeof held !== 'number' || typeof value !== 'number') return false;
  const sign = Math.sign(held - value);
  return { $gt: [1], $gte: [0, 1], $lt: [-1], $lte: [-1, 0] }[operator]?.includes(sign) ?? false;
}

function resolve(operand: unknown, type: string): unknown {
  if (typeof operand !== 'object' || operand === null) return operand;
  const text = (variables as Readonly<Record<string, string>>)[(operand as { $variable: string }).$variable];
  if (text === undefined || type === 'string') return text;
  if (type === 'boolean') return { true: true, false: false }[text];
  return /^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number.parseFloat(text) : undefined;
}

describe('random filters', () => {
  it('agree on random metadata with a plain evaluation', () => {
    const random = createRng(26);
    const outcomes = { true: 0, false: 0 };
    for (let round = 0; round < scaled(5000); round++) {
      const isDeclared = round % 2 === 0;
      const maker = new FilterMaker(random, isDeclared);
      const filter = maker.filter(3);
      const reading = readFilter(filter, isDeclared ? fields : undefined);
      if (!reading.ok) throw new Error(`${JSON.stringify(filter)}: ${JSON.stringify(reading.errors)}`);
      const passes = reading.value.bind(variables);
      for (let entry = 0; entry < 4; entry++) {
        const metadata = maker.metadata();
        const expected = holds(filter, metadata);
        outcomes[`${expected}`]++;
        if (passes(metadataFields(metadata)) !== expected)
          expect.fail(`${JSON.stringify(filter)} on ${JSON.stringify(metadata)} must be ${String(expected)}`);
      }
    }
    expect(Math.min(outcomes.true, outcomes.false)).toBeGreaterThan(scaled(2500));
  });
});
