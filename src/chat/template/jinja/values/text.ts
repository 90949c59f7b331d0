import type { StepBudget } from '../stepBudget.ts';
import { compareText } from './characters.ts';
import type { Value } from './values.ts';
import { Callable, Dict, Float, Generator, Loop, Namespace, Tuple, typeName, Undefined, View } from './values.ts';

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
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number') return integerText(value);
  if (typeof value === 'string') {
    budget.spend(value.length);
    return stringRepr(value);
  }
  if (value instanceof Float) return floatText(value.value);
  if (value instanceof Undefined) return 'Undefined';
  if (value instanceof Tuple) return `(${listRepr(value.items, budget)}${value.items.length === 1 ? ',' : ''})`;
  if (value instanceof Dict) return dictRepr(value.entries(), budget);
  if (value instanceof View) return `${value.type}(${value.origin ?? `[${listRepr(value.items, budget)}]`})`;
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

const integerText = (value: number): string => (Math.abs(value) < 1e21 ? String(value) : String(BigInt(value)));

/** A float as Python prints it: the fewest digits, and an exponent below 0.0001 and from 1e16. */
function floatText(value: number): string {
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

/** The settings of Python's `json.dumps`. */
interface JsonSettings {
  /** What a level is indented by; undefined: all on one line. */
  readonly indent: string | undefined;
  readonly itemSeparator: string;
  readonly keySeparator: string;
  readonly ensureAscii: boolean;
  readonly sortKeys: boolean;
}

/** JSON as Python's `json.dumps` writes it; a generator is a list, as in llama.cpp. @throws Error for undefined. */
export function toJson(value: Value, settings: JsonSettings, budget: StepBudget, margin = '\n'): string {
  budget.spend(4);
  budget.spendText(margin.length);
  if (typeof value === 'string') {
    budget.spendText(value.length);
    return stringJson(value, settings.ensureAscii);
  }
  const constant = constantJson(value);
  if (constant !== undefined) return constant;
  const inner = settings.indent === undefined ? margin : margin + settings.indent;
  const nestedJson = (item: Value): string => budget.nested(() => toJson(item, settings, budget, inner));
  const join = (open: string, items: readonly string[], close: string): string => {
    if (items.length === 0) return open + close;
    if (settings.indent === undefined) return open + items.join(settings.itemSeparator) + close;
    return open + inner + items.join(settings.itemSeparator + inner) + margin + close;
  };
  if (Array.isArray(value)) return join('[', value.map(nestedJson), ']');
  if (value instanceof Tuple) return join('[', value.items.map(nestedJson), ']');
  if (value instanceof Generator) return join('[', value.take().map(nestedJson), ']');
  if (!(value instanceof Dict)) throw new Error(`Object of type ${typeName(value)} is not JSON serializable`);
  const members = value.entries().map(([key, member]) => [keyText(key), member] as const);
  if (settings.sortKeys) members.sort(([left], [right]) => compareText(left, right));
  const toMember = ([key, member]: readonly [string, Value]): string =>
    stringJson(key, settings.ensureAscii) + settings.keySeparator + nestedJson(member);
  return join('{', members.map(toMember), '}');
}

function constantJson(value: Value): string | undefined {
  if (value === null) return 'null';
  if (typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return integerText(value);
  if (!(value instanceof Float)) return undefined;
  return Number.isFinite(value.value)
    ? floatText(value.value)
    : floatText(value.value).replace('inf', 'Infinity').replace('nan', 'NaN');
}

function keyText(key: Value): string {
  const text = typeof key === 'string' ? key : constantJson(key);
  if (text === undefined) throw new Error(`keys must be str, int, float, bool or None, not ${typeName(key)}`);
  return text;
}

// Private-use characters stay: the prompt renderer uses them as masks.
const nonAscii = /[\x7f-\ud7ff\ud800-\udfff\uf900-\uffff]/g;

function stringJson(text: string, ensureAscii: boolean): string {
  const json = JSON.stringify(text);
  if (!ensureAscii) return json;
  return json.replace(nonAscii, (unit) => String.raw`\u` + unit.charCodeAt(0).toString(16).padStart(4, '0'));
}
