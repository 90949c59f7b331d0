import { type FieldType, fieldTypes, type ScalarType } from '../../storage/knowledge/knowledge.ts';
import { type Held, negate, type Outcome, type Scalar } from './filter.ts';

/** A value to compare with a type: a literal, or a variable as that type; undefined: missing or no such value. */
export type Operand = (type: ScalarType) => Scalar | undefined;

/** The list of `$in` and `$nin` for one search. */
export interface OperandList {
  readonly literals: ReadonlySet<Scalar>;
  readonly variables: readonly Operand[];
}

/** An operator: what it can compare, and how it compares what an entry has with the value of a filter. */
export interface SingleOperator {
  /** The types of fields that it compares. */
  readonly fieldTypes: readonly FieldType[];
  /** The types of values that it takes, where the type of the field does not say it. */
  readonly valueTypes: readonly ScalarType[];
  readonly compare: (held: Held, value: Operand) => Outcome;
}

const scalarFields = (Object.keys(fieldTypes) as FieldType[]).filter((type) => type !== 'set<string>');
export const scalars = ['string', 'number', 'boolean'] as const;

const typeOf = (held: Scalar): ScalarType => typeof held as ScalarType;

const order = (holds: (held: number, value: number) => boolean): SingleOperator => ({
  fieldTypes: ['int', 'float'],
  valueTypes: ['number'],
  compare(held, operand) {
    const value = operand('number');
    return value === undefined ? undefined : typeof held === 'number' && holds(held, Number(value));
  },
});

function equal(held: Held, operand: Operand): Outcome {
  const value = operand(typeof held === 'object' ? 'string' : typeOf(held));
  return value === undefined ? undefined : held === value;
}

/** `$eq`, which a value without an operator stands for, too. */
export const equals: SingleOperator = { fieldTypes: scalarFields, valueTypes: scalars, compare: equal };

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
      valueTypes: scalars,
      compare(held, operand) {
        if (operand('string') === undefined) return undefined;
        return typeof held === 'object' && held.some((item) => item === operand(typeOf(item)));
      },
    },
  ],
]);

/** Whether the value, or one of a list of them, is in another list. */
function isIn(held: Held, { literals, variables }: OperandList): Outcome {
  const items = typeof held === 'object' ? held : [held];
  const equals = (item: Scalar): boolean =>
    literals.has(item) || variables.some((operand) => operand(typeOf(item)) === item);
  if (items.some(equals)) return true;
  const [first = ''] = items;
  return variables.some((operand) => operand(typeOf(first)) === undefined) ? undefined : false;
}

/** They compare fields of all types. */
export const listOperators = new Map([
  ['$in', isIn],
  ['$nin', (held: Held, list: OperandList): Outcome => negate(isIn(held, list))],
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
