import type { ArithmeticOperator, ComparisonOperator } from '../syntax/ast.ts';
import type { StepBudget } from '../stepBudget.ts';
import { compareText } from '../values/characters.ts';
import { iterate, numberOf, requireDefined, sizeOf, tryIterate } from '../values/coercion.ts';
import { Dict, Float, Tuple, Undefined, typeName, type Value, type CallArguments } from '../values/values.ts';
import { toRepr, toText } from '../values/text.ts';

const maxWidth = 1000;
const directive = /%(?:\(([^()%]{0,100})\))?([-+ 0#]{0,5})(\d{0,4})(?:\.(\d{0,4}))?(.)/gs;

/** Python's `text % values`: s, r, d, i, u, f, x, %. @throws Error for another directive, or values that do not fit. */
export function formatPercent(text: string, values: Value, budget: StepBudget): string {
  budget.spend(text.length);
  const items = values instanceof Tuple ? values.items : [values];
  let index = 0;
  let total = 0;
  const formatted = text.replace(
    directive,
    (_, key: string | undefined, flags: string, width, precision, kind: string) => {
      if (kind === '%') return '%';
      if (Number(width) > maxWidth || Number(precision ?? 0) > maxWidth)
        throw new Error('the width of a directive is too large');
      const value = key === undefined ? items[index++] : values instanceof Dict ? values.get(key) : undefined;
      if (value === undefined) throw new Error('not enough arguments for format string');
      const formatted = formatDirective(kind, value, precision, budget);
      total += formatted.length;
      budget.spendText(formatted.length);
      budget.checkText(total);
      const isNumber = 'diufx'.includes(kind);
      const signed = isNumber && !formatted.startsWith('-') ? (/[+ ]/.exec(flags)?.[0] ?? '') + formatted : formatted;
      if (flags.includes('-')) return signed.padEnd(Number(width));
      if (!flags.includes('0') || !isNumber) return signed.padStart(Number(width));
      const sign = /^[-+ ]?/.exec(signed)?.[0] ?? '';
      return sign + signed.slice(sign.length).padStart(Number(width) - sign.length, '0');
    },
  );
  if (index < items.length && !isMapping(values))
    throw new Error('not all arguments converted during string formatting');
  budget.spendText(formatted.length);
  return formatted;
}

// What Python looks keys up in need not be used up.
const isMapping = (values: Value): boolean =>
  values instanceof Dict || values instanceof Undefined || Array.isArray(values);

function formatDirective(kind: string, value: Value, precision: string | undefined, budget: StepBudget): string {
  switch (kind) {
    case 's':
    case 'r': {
      const text = kind === 's' ? toText(value, budget) : toRepr(value, budget);
      return precision === undefined ? text : text.slice(0, Number(precision));
    }
    case 'd':
    case 'i':
    case 'u':
      return toRepr(Math.trunc(requireNumber(value)), budget);
    case 'x':
      return Math.trunc(requireNumber(value)).toString(16);
    case 'f':
      return requireNumber(value).toFixed(Math.min(100, precision === undefined ? 6 : Number(precision)));
    default:
      throw new Error(`unsupported format character ${JSON.stringify(kind)}`);
  }
}

function requireNumber(value: Value): number {
  const number = numberOf(value);
  if (number === undefined) throw new Error(`a number is required, not ${typeName(value)}`);
  return number;
}

const field = /\{\{|\}\}|\{([^{}!:]{0,100})(?:!([rs]))?(?::([^{}]{0,100}))?\}/g;

/** Python's `text.format(...)`. @throws Error when a value is missing, or for a format specification. */
export function formatBraces(text: string, { positional, keywords }: CallArguments, budget: StepBudget): string {
  budget.spend(text.length);
  let automatic = 0;
  const formatted = text.replace(field, (match, name = '', conversion?: string, specification = '') => {
    if (match === '{{' || match === '}}') return match.charAt(0);
    if (specification !== '') throw new Error(`unsupported format specification ${JSON.stringify(specification)}`);
    const position = name === '' ? automatic++ : /^\d+$/.test(name) ? Number(name) : undefined;
    const value = position === undefined ? keywords.get(name) : positional[position];
    if (value === undefined) throw new Error(`format() has no value for the field {${name}}`);
    const replacement = conversion === 'r' ? toRepr(value, budget) : toText(value, budget);
    budget.spendText(replacement.length);
    return replacement;
  });
  budget.spendText(formatted.length);
  return formatted;
}

/** Whether two values are equal in Python: 1, 1.0 and true are; a list and a tuple are not. */
export function areEqual(left: Value, right: Value, budget: StepBudget): boolean {
  budget.spend(1 + Math.min(sizeOf(left), sizeOf(right)));
  if (left === right) return true;
  const numbers = [numberOf(left), numberOf(right)];
  if (numbers[0] !== undefined && numbers[1] !== undefined) return numbers[0] === numbers[1];
  if (left instanceof Undefined) return right instanceof Undefined;
  if (Array.isArray(left)) return Array.isArray(right) && areAllEqual(left, right, budget);
  if (left instanceof Tuple) return right instanceof Tuple && areAllEqual(left.items, right.items, budget);
  if (!(left instanceof Dict && right instanceof Dict) || left.size !== right.size) return false;
  return budget.nested(() =>
    left.entries().every(([key, value]) => {
      const other = right.get(key);
      return other !== undefined && areEqual(value, other, budget);
    }),
  );
}

const areAllEqual = (left: readonly Value[], right: readonly Value[], budget: StepBudget): boolean =>
  left.length === right.length &&
  budget.nested(() => left.every((item, index) => areEqual(item, right[index] ?? null, budget)));

/** Orders two values: negative, 0 or positive. @throws Error for types that have no order. */
export function compareValues(left: Value, right: Value, budget: StepBudget): number {
  budget.spend(1 + Math.min(sizeOf(left), sizeOf(right)));
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a !== undefined && b !== undefined) return a - b;
  if (typeof left === 'string' && typeof right === 'string') return compareText(left, right);
  if (Array.isArray(left) && Array.isArray(right)) return compareLists(left, right, budget);
  if (left instanceof Tuple && right instanceof Tuple) return compareLists(left.items, right.items, budget);
  requireDefined(left);
  requireDefined(right);
  throw new Error(`'${typeName(left)}' and '${typeName(right)}' cannot be ordered`);
}

function compareLists(left: readonly Value[], right: readonly Value[], budget: StepBudget): number {
  for (const [index, item] of left.entries()) {
    const other = right[index];
    if (other === undefined) break;
    if (!areEqual(item, other, budget)) return budget.nested(() => compareValues(item, other, budget));
  }
  return left.length - right.length;
}

function contains(container: Value, item: Value, budget: StepBudget): boolean {
  budget.spend(1 + sizeOf(container instanceof Dict ? item : container));
  if (typeof container === 'string') {
    if (typeof item === 'string') {
      budget.spendSearch(container.length, item.length);
      return container.includes(item);
    }
    requireDefined(item);
    throw new Error(`'in <string>' requires string as left operand, not ${typeName(item)}`);
  }
  if (container instanceof Dict) return container.get(item) !== undefined;
  const items = tryIterate(container);
  if (!items) throw new Error(`argument of type '${typeName(container)}' is not iterable`);
  return items.some((other) => areEqual(item, other, budget));
}

type Comparison = (left: Value, right: Value, budget: StepBudget) => boolean;

/** What the operators of comparisons do. @throws Error for types that they do not compare. */
export const comparisons: Readonly<Record<ComparisonOperator, Comparison>> = {
  '==': areEqual,
  '!=': (left, right, budget) => !areEqual(left, right, budget),
  in: (left, right, budget) => contains(right, left, budget),
  'not in': (left, right, budget) => !contains(right, left, budget),
  '<': (left, right, budget) => compareValues(left, right, budget) < 0,
  '<=': (left, right, budget) => compareValues(left, right, budget) <= 0,
  '>': (left, right, budget) => compareValues(left, right, budget) > 0,
  '>=': (left, right, budget) => compareValues(left, right, budget) >= 0,
};

/** @throws Error for types that do not have the operation, and for a division by zero. */
export function calculate(operator: ArithmeticOperator, left: Value, right: Value, budget: StepBudget): Value {
  const [a, b] = [numberOf(left), numberOf(right)];
  if (a !== undefined && b !== undefined) {
    const isFloat = left instanceof Float || right instanceof Float || operator === '/' || (operator === '**' && b < 0);
    return numberResult(arithmetic[operator](a, b), isFloat);
  }
  if (operator === '%' && typeof left === 'string') return formatPercent(left, right, budget);
  requireDefined(left);
  requireDefined(right);
  if (operator === '+') {
    const sum = concatenate(left, right, budget);
    if (sum !== undefined) return sum;
  }
  if (operator === '*') {
    if (b !== undefined && !(right instanceof Float)) return repeat(left, b, budget);
    if (a !== undefined && !(left instanceof Float)) return repeat(right, a, budget);
  }
  throw new Error(`unsupported operand type(s) for ${operator}: '${typeName(left)}' and '${typeName(right)}'`);
}

const arithmetic: Readonly<Record<ArithmeticOperator, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '**': (a, b) => a ** b,
  '/': (a, b) => a / notZero(b),
  // Python rounds down.
  '//': (a, b) => Math.round((a - moduloOf(a, b)) / b),
  '%': moduloOf,
};

function notZero(divisor: number): number {
  if (divisor === 0) throw new Error('division by zero');
  return divisor;
}

/** Python's remainder of a division: with the sign of the divisor. */
export function moduloOf(a: number, b: number): number {
  const remainder = a % notZero(b);
  return remainder !== 0 && remainder < 0 !== b < 0 ? remainder + b : remainder;
}

/** @throws Error when the number is not finite. */
export function numberResult(value: number, isFloat: boolean): Value {
  if (!Number.isFinite(value)) throw new Error('the result is too large');
  return isFloat ? new Float(value) : value;
}

function concatenate(left: Value, right: Value, budget: StepBudget): Value | undefined {
  if (typeof left === 'string' && typeof right === 'string') {
    budget.spendText(left.length + right.length);
    return left + right;
  }
  const areLists = Array.isArray(left) && Array.isArray(right);
  if (!areLists && !(left instanceof Tuple && right instanceof Tuple)) return undefined;
  const items = [...iterate(left), ...iterate(right)];
  budget.spendList(items.length);
  return areLists ? items : new Tuple(items);
}

/** @throws Error for a value that is no text, list or tuple. */
function repeat(value: Value, times: number, budget: StepBudget): Value {
  const count = Math.max(0, times);
  if (typeof value === 'string') return repeatText(value, count, budget);
  if (!Array.isArray(value) && !(value instanceof Tuple))
    throw new Error(`can't multiply sequence by non-int of type '${typeName(value)}'`);
  const items = iterate(value);
  budget.spendList(items.length * count);
  const repeated = items.length === 0 ? [] : Array.from({ length: count }, () => items).flat();
  return Array.isArray(value) ? repeated : new Tuple(repeated);
}

/** A text several times; empty for a negative count. */
export function repeatText(text: string, count: number, budget: StepBudget): string {
  const times = Math.max(0, count);
  budget.spendText(text.length * times);
  return text.repeat(times);
}
