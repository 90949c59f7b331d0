import { Callable, Dict, Float, Loop, Namespace, Tuple, Undefined, View, typeName, type Value } from './values.ts';
import type { StepBudget } from '../stepBudget.ts';

/** The text that a value is printed as: Python's `str`; undefined is empty. */
export function toText(value: Value, budget: StepBudget): string {
  if (typeof value === 'string') return value;
  if (value instanceof Undefined) return '';
  return toRepr(value, budget);
}

/** Python's `repr` of a value: its text inside of a list or a dict. */
export function toRepr(value: Value, budget: StepBudget): string {
  budget.spend(4);
  if (value === null) return 'None';
  if (Array.isArray(value)) return `[${listRepr(value, budget)}]`;
  switch (typeof value) {
    case 'boolean':
      return value ? 'True' : 'False';
    case 'number':
      return integerText(value);
    case 'string':
      budget.spend(value.length);
      return stringRepr(value);
    default:
  }
  if (value instanceof Float) return floatText(value.value);
  if (value instanceof Undefined) return 'Undefined';
  if (value instanceof Tuple) return `(${listRepr(value.items, budget)}${value.items.length === 1 ? ',' : ''})`;
  if (value instanceof Dict) return dictRepr(value.entries(), budget);
  if (value instanceof View) return `${value.kind}(${value.origin ?? `[${listRepr(value.items, budget)}]`})`;
  if (value instanceof Namespace) return `<Namespace ${dictRepr([...value.attributes], budget)}>`;
  if (value instanceof Callable) return `<function ${value.name}>`;
  return `<${typeName(value)}${value instanceof Loop ? '' : ' object'}>`;
}

const listRepr = (items: readonly Value[], budget: StepBudget): string =>
  budget.nested(() => items.map((item) => toRepr(item, budget)).join(', '));

const dictRepr = (entries: readonly (readonly [Value, Value])[], budget: StepBudget): string =>
  budget.nested(
    () => `{${entries.map(([key, value]) => `${toRepr(key, budget)}: ${toRepr(value, budget)}`).join(', ')}}`,
  );

/** All digits of an integer. */
export const integerText = (value: number): string => (Math.abs(value) < 1e21 ? String(value) : String(BigInt(value)));

/** A float as Python prints it: the fewest digits, and an exponent below 0.0001 and from 1e16. */
export function floatText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  if (!Number.isFinite(value)) return value > 0 ? 'inf' : '-inf';
  const [mantissa = '', power = ''] = value.toExponential().split('e');
  const exponent = Number(power);
  if (value !== 0 && (exponent < -4 || exponent >= 16))
    return `${mantissa}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`;
  if (Number.isInteger(value)) return `${Object.is(value, -0) ? '-0' : value}.0`;
  // JavaScript writes an exponent below 0.000001 only.
  return String(value);
}

const simpleEscapes: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

// What Python does not print as it is. Private-use characters are printed: the prompt renderer uses them as masks.
const unprintable = /[\\\p{Cc}\p{Cf}\p{Cs}\p{Cn}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

function stringRepr(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const escaped = text.replace(unprintable, (character) => {
    const simple = simpleEscapes[character];
    if (simple !== undefined) return simple;
    const hex = (character.codePointAt(0) ?? 0).toString(16);
    if (hex.length <= 2) return `\\x${hex.padStart(2, '0')}`;
    return hex.length <= 4 ? `\\u${hex.padStart(4, '0')}` : `\\U${hex.padStart(8, '0')}`;
  });
  return quote + (quote === "'" ? escaped.replaceAll("'", String.raw`\'`) : escaped) + quote;
}
