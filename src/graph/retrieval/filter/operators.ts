import type { KnowledgeField, MetadataValue } from '../../storage/knowledge/knowledge.ts';
import type { Outcome } from './filter.ts';

/** A value that a filter compares with. */
export type Scalar = string | number | boolean;

type ScalarType = 'string' | 'number' | 'boolean';

/**
 * The value of a filter for one search, to compare with a value of a type: a literal as it is written; a variable as that
 * type, or undefined when it is missing or no such value.
 */
export type Operand = (type: ScalarType) => Scalar | undefined;

/** Compares what an entry has with the value of a filter. */
type Comparison = (held: MetadataValue, operand: Operand) => Outcome;

/** An operator that takes a single value. */
export interface SingleOperator {
  /** The types of fields that it compares. */
  readonly fieldTypes: readonly KnowledgeField['type'][];
  /** The types of values that it takes, where the type of the field does not say it. */
  readonly valueTypes: readonly ScalarType[];
  readonly compare: Comparison;
}

const scalarFields = ['int', 'float', 'string', 'bool'] as const;
const scalars = ['string', 'number', 'boolean'] as const;

const equal: Comparison = (held, operand) => {
  const type = typeof held;
  if (type !== 'string' && type !== 'number' && type !== 'boolean') return false;
  const value = operand(type);
  return value === undefined ? undefined : held === value;
};

const order = (holds: (held: number, value: number) => boolean): SingleOperator => ({
  fieldTypes: ['int', 'float'],
  valueTypes: ['number'],
  compare: (held, operand) => {
    const value = operand('number');
    if (value === undefined) return undefined;
    return typeof held === 'number' && typeof value === 'number' && holds(held, value);
  },
});

/** The operators that take a single value, by name. */
export const singleOperators = {
  $eq: { fieldTypes: scalarFields, valueTypes: scalars, compare: equal },
  $ne: { fieldTypes: scalarFields, valueTypes: scalars, compare: (held, operand) => negate(equal(held, operand)) },
  $gt: order((held, value) => held > value),
  $gte: order((held, value) => held >= value),
  $lt: order((held, value) => held < value),
  $lte: order((held, value) => held <= value),
  $contains: {
    fieldTypes: ['set<string>'],
    valueTypes: ['string'],
    compare: (held, operand) => {
      const value = operand('string');
      if (value === undefined) return undefined;
      return Array.isArray(held) && held.includes(value);
    },
  },
} as const satisfies Readonly<Record<string, SingleOperator>>;

/** What `$in` compares with in one search. */
export interface OperandList {
  readonly literals: ReadonlySet<Scalar>;
  readonly variables: readonly Operand[];
}

/** `$in`: whether the value, or one of a set, is in the list. */
export function isIn(held: MetadataValue, { literals, variables }: OperandList): Outcome {
  if (typeof held === 'object') {
    const texts = variables.map((operand) => operand('string'));
    if (held.some((item) => literals.has(item) || texts.includes(item))) return true;
    return texts.includes(undefined) ? undefined : false;
  }
  if (literals.has(held)) return true;
  const outcomes = variables.map((operand) => equal(held, operand));
  if (outcomes.includes(true)) return true;
  return outcomes.includes(undefined) ? undefined : false;
}

/** `$nin`: the negation of `$in`. */
export const isNotIn = (held: MetadataValue, list: OperandList): Outcome => negate(isIn(held, list));

const negate = (outcome: Outcome): Outcome => (outcome === undefined ? undefined : !outcome);

/** The type of the values of a field, in a filter. */
export const scalarTypeOf = (type: KnowledgeField['type']): ScalarType => {
  switch (type) {
    case 'int':
    case 'float':
      return 'number';
    case 'bool':
      return 'boolean';
    case 'string':
    case 'set<string>':
      return 'string';
    default:
      return type satisfies never;
  }
};

/** A literal as an operand. */
export const literalOperand =
  (value: Scalar): Operand =>
  () =>
    value;

/** The text of a variable as an operand; undefined: the variable is missing. */
export function variableOperand(text: string | undefined): Operand {
  if (text === undefined) return () => undefined;
  const number = text.trim() === '' ? Number.NaN : Number(text);
  const boolean = text === 'true' ? true : text === 'false' ? false : undefined;
  return (type) => {
    if (type === 'string') return text;
    if (type === 'boolean') return boolean;
    return Number.isFinite(number) ? number : undefined;
  };
}
