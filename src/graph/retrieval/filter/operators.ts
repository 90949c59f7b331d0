import { type FieldType, fieldTypes, type MetadataValue, type ScalarType } from '../../storage/knowledge/knowledge.ts';
import { negate, type Outcome } from './filter.ts';

/** A value that a filter compares with. */
export type Scalar = string | number | boolean;

/**
 * The value of a filter for one search, to compare with a value of a type: a literal as it is written; a variable as that
 * type, or undefined when it is missing or no such value.
 */
export type Operand = (type: ScalarType) => Scalar | undefined;

/** The list of `$in` and `$nin` for one search. */
export interface OperandList {
  readonly literals: ReadonlySet<Scalar>;
  readonly variables: readonly Operand[];
}

/** An operator: what it can compare, and how it compares what an entry has with the value of a filter. */
interface Operator<Value> {
  /** The types of fields that it compares. */
  readonly fieldTypes: readonly FieldType[];
  /** The types of values that it takes, where the type of the field does not say it. */
  readonly valueTypes: readonly ScalarType[];
  readonly compare: (held: MetadataValue, value: Value) => Outcome;
}

/** An operator that takes a single value. */
export type SingleOperator = Operator<Operand>;

const allFields = Object.keys(fieldTypes) as FieldType[];
const scalarFields = allFields.filter((type) => type !== 'set<string>');
const scalars = ['string', 'number', 'boolean'] as const;

// What is in a set is compared one by one.
const typeOf = (held: MetadataValue): ScalarType => (typeof held === 'object' ? 'string' : (typeof held as ScalarType));

const compareWith =
  (holds: (held: MetadataValue, value: Scalar) => boolean, type?: ScalarType): SingleOperator['compare'] =>
  (held, operand) => {
    const value = operand(type ?? typeOf(held));
    return value === undefined ? undefined : holds(held, value);
  };

const order = (holds: (held: number, value: number) => boolean): SingleOperator => ({
  fieldTypes: ['int', 'float'],
  valueTypes: ['number'],
  compare: compareWith((held, value) => typeof held === 'number' && holds(held, Number(value)), 'number'),
});

const equal = compareWith((held, value) => held === value);

/** `$eq`, which a value without an operator stands for, too. */
export const equals: SingleOperator = { fieldTypes: scalarFields, valueTypes: scalars, compare: equal };

/** The operators that take a single value, by name. */
export const singleOperators: ReadonlyMap<string, SingleOperator> = new Map([
  ['$eq', equals],
  ['$ne', { ...equals, compare: (held, operand) => negate(equal(held, operand)) }],
  ['$gt', order((held, value) => held > value)],
  ['$gte', order((held, value) => held >= value)],
  ['$lt', order((held, value) => held < value)],
  ['$lte', order((held, value) => held <= value)],
  [
    '$contains',
    {
      fieldTypes: ['set<string>'],
      valueTypes: ['string'],
      compare: compareWith((held, value) => Array.isArray(held) && held.includes(value), 'string'),
    },
  ],
]);

/** Whether the value, or one of a set, is in a list. */
function isIn(held: MetadataValue, { literals, variables }: OperandList): Outcome {
  const values = variables.map((operand) => operand(typeOf(held)));
  const items = typeof held === 'object' ? held : [held];
  if (items.some((item) => literals.has(item) || values.includes(item))) return true;
  return values.includes(undefined) ? undefined : false;
}

const within: Operator<OperandList> = { fieldTypes: allFields, valueTypes: scalars, compare: isIn };

/** The operators that take a list, by name. */
export const listOperators: ReadonlyMap<string, Operator<OperandList>> = new Map([
  ['$in', within],
  ['$nin', { ...within, compare: (held, list) => negate(isIn(held, list)) }],
]);

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
