import type { ComparisonOperator } from '../syntax/ast.ts';
import {
  takes,
  Callable,
  Dict,
  Float,
  Generator,
  Loop,
  Tuple,
  Undefined,
  View,
  typeName,
  type Value,
} from '../values/values.ts';
import { areEqual, comparisons, moduloOf } from './operators.ts';
import type { JinjaTest } from '../runtime.ts';
import { toText } from '../values/text.ts';
import { numberOf, requireDefined } from '../values/coercion.ts';

const comparison = (operator: ComparisonOperator): JinjaTest =>
  takes(['other'], (value, [other], { budget }) => comparisons[operator](value, other, budget));

// As in Jinja, undefined can be called: it then says what is undefined.
const isCallable = (value: Value): boolean =>
  value instanceof Callable || value instanceof Undefined || (value instanceof Loop && value.recurse !== undefined);

const isSequence = (value: Value): boolean =>
  typeof value === 'string' ||
  Array.isArray(value) ||
  value instanceof Tuple ||
  value instanceof Dict ||
  value instanceof Undefined ||
  (value instanceof View && value.type === 'range');

/** The remainder of a division, with the sign of the divisor. */
function remainder(value: Value, divisor: Value): number {
  const [a, b] = [numberOf(requireDefined(value)), numberOf(divisor)];
  if (a === undefined || b === undefined) throw new Error(`'${typeName(value)}' is not a number`);
  return moduloOf(a, b);
}

const inCase =
  (change: 'toLowerCase' | 'toUpperCase'): JinjaTest =>
  (value, _, { budget }) => {
    const text = toText(value, budget);
    return text === text[change]() && text.toLowerCase() !== text.toUpperCase();
  };

/** The tests of Jinja: `value is name(args)`. */
export const jinjaTests: ReadonlyMap<string, JinjaTest> = new Map<string, JinjaTest>([
  ['boolean', (value) => typeof value === 'boolean'],
  ['callable', isCallable],
  ['defined', (value) => !(value instanceof Undefined)],
  ['undefined', (value) => value instanceof Undefined],
  ['none', (value) => value === null],
  ['true', (value) => value === true],
  ['false', (value) => value === false],
  ['string', (value) => typeof value === 'string'],
  ['integer', (value) => typeof value === 'number'],
  ['float', (value) => value instanceof Float],
  ['number', (value) => numberOf(value) !== undefined],
  ['mapping', (value) => value instanceof Dict],
  ['sequence', isSequence],
  [
    'iterable',
    (value) => isSequence(value) || value instanceof View || value instanceof Generator || value instanceof Loop,
  ],
  ['odd', (value) => remainder(value, 2) === 1],
  ['even', (value) => remainder(value, 2) === 0],
  ['divisibleby', takes(['num'], (value, [divisor]) => remainder(value, divisor) === 0)],
  ['lower', inCase('toLowerCase')],
  ['upper', inCase('toUpperCase')],
  ['in', comparison('in')],
  ['eq', comparison('==')],
  ['equalto', comparison('==')],
  ['ne', comparison('!=')],
  ['lt', comparison('<')],
  ['lessthan', comparison('<')],
  ['le', comparison('<=')],
  ['gt', comparison('>')],
  ['greaterthan', comparison('>')],
  ['ge', comparison('>=')],
  [
    'sameas',
    takes(
      ['other'],
      (value, [other], { budget }) =>
        value === other || (typeof value === typeof other && !isSequence(value) && areEqual(value, other, budget)),
    ),
  ],
  ['escaped', () => false],
]);
