import type { StepBudget } from '../stepBudget.ts';
import { toRepr, toText } from '../values/text.ts';
import { numberOf } from '../values/coercion.ts';
import { type CallArguments, Dict, Tuple, typeName, Undefined, type Value } from '../values/values.ts';

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
