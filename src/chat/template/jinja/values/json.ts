import type { StepBudget } from '../stepBudget.ts';
import { compareText } from './characters.ts';
import { floatText, integerText } from './text.ts';
import { Dict, Float, Generator, Tuple, typeName, type Value } from './values.ts';

/** The settings of Python's `json.dumps`. */
export interface JsonSettings {
  /** What a level is indented by; undefined: all on one line. */
  readonly indent: string | undefined;
  readonly itemSeparator: string;
  readonly keySeparator: string;
  readonly ensureAscii: boolean;
  readonly sortKeys: boolean;
}

/**
 * The JSON of a value, as Python's `json.dumps` writes it. A generator becomes a list, as in llama.cpp, whose own templates
 * rely on it.
 * @throws Error for a value that JSON does not have, such as undefined.
 */
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
