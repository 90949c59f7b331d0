import type { TextRange } from '../../markSearch.ts';
import { commonEnd, commonStart, locateText, withoutEnd } from './texts.ts';
import { UnknownLayout, type CallSample, type LayoutSamples } from './probes.ts';
import type { ParameterLayout, ParameterMarks, ValueStyle } from '../../dialect/layout.ts';
import type { MarkPair } from '../../replyMarks.ts';
import { valueNotations } from '../../dialect/values/index.ts';

/**
 * Reads the marks of parameters off a call whose arguments are a string, a number and a string: a layout for each
 * notation in which the values can be written.
 * @throws UnknownLayout when they do not stand one after the other, or are in no notation that is known.
 */
export function deriveParameters(samples: LayoutSamples): readonly [ParameterLayout, ...ParameterLayout[]] {
  const marks = deriveMarks(samples);
  const notations = [...valueNotations.values()].filter((notation) => notation.explains(marks));
  const [first, ...others] = notations.map(({ name }): ParameterLayout => ({ ...marks, values: name }));
  if (!first) throw new UnknownLayout('the values are written in no notation that is known');
  return [first, ...others];
}

function deriveMarks({ one, empty, list, literals }: LayoutSamples): ParameterMarks {
  const { text } = one;
  const { nameEnd, keys, values } = locateParameters(one);
  const [key1, key2, key3] = keys;
  const [value1, value2, value3] = values;
  if (!key1 || !key2 || !key3 || !value1 || !value2 || !value3) throw new UnknownLayout('a key or a value is missing');
  const before = text.slice(nameEnd, key1.start);
  const afterString = text.slice(value1.end, key2.start);
  const afterOther = text.slice(value2.end, key3.start);
  const key = commonEnd(before, commonEnd(afterString, afterOther)).trimStart();
  const closeAndSeparator = withoutEnd(afterString, key);
  const close = commonStart(closeAndSeparator, text.slice(value3.end)).trimEnd();
  const separator = closeAndSeparator.slice(close.length);
  const end = value3.end + close.length;
  const string = { open: text.slice(key1.end, value1.start), close };
  const other = { open: text.slice(key2.end, value2.start), close: withoutEnd(withoutEnd(afterOther, key), separator) };
  // What a template writes that puts an object where text is expected.
  if (before.endsWith("{'") && other.open.startsWith("':")) throw new UnknownLayout('the arguments are no JSON');
  const quote = quoteOf(string, other);
  const layout = {
    kind: 'parameters' as const,
    open: withoutEnd(before, key),
    separator,
    empty: emptyText(empty, text.slice(end)),
    key,
    string: quote === '' ? string : other,
    other,
  };
  return { ...layout, style: { quote, ...literalsOf(literals, layout), ...nestedStyleOf(list) } };
}

function locateParameters({ text, calls: [call] }: CallSample): {
  readonly nameEnd: number;
  readonly keys: readonly TextRange[];
  readonly values: readonly TextRange[];
} {
  const keys: TextRange[] = [];
  const values: TextRange[] = [];
  const name = locateText(text, call?.name ?? '', 0);
  if (!call || !name) throw new UnknownLayout('the name of the tool is missing');
  let from = name.end;
  for (const [key, value] of Object.entries(call.arguments)) {
    const keyPlace = locateText(text, key, from);
    const valuePlace = keyPlace && locateText(text, String(value), keyPlace.end);
    if (!keyPlace || !valuePlace) throw new UnknownLayout(`the argument "${key}" or its value is missing`);
    keys.push(keyPlace);
    values.push(valuePlace);
    from = valuePlace.end;
  }
  return { nameEnd: name.end, keys, values };
}

/** What stands around a string, and not around another value. */
function quoteOf(string: MarkPair, other: MarkPair): string {
  const quote = string.open.slice(other.open.length);
  return string.open === other.open + quote && string.close === quote + other.close ? quote : '';
}

function emptyText(empty: CallSample | undefined, afterArguments: string): string {
  const nameEnd = empty && locateText(empty.text, empty.calls[0]?.name ?? '', 0)?.end;
  if (nameEnd === undefined) return '';
  const rest = empty?.text.slice(nameEnd) ?? '';
  return withoutEnd(rest, rest.endsWith(afterArguments) ? afterArguments : commonEnd(rest, afterArguments));
}

/** How lists and objects are written: as Python's `repr`, else as JSON. */
function nestedStyleOf(list: CallSample | undefined): Pick<ValueStyle, 'nested'> {
  const values = Object.values(list?.calls[0]?.arguments ?? {}).flat();
  const isRepr = values.length > 0 && values.every((value) => list?.text.includes(`'${String(value)}'`));
  return isRepr ? { nested: 'python' } : {};
}

/** How true, false and null are written; as in JSON where the template leaves them out. */
function literalsOf(
  sample: CallSample | undefined,
  { key, other }: Pick<ParameterLayout, 'key' | 'other'>,
): Omit<ValueStyle, 'quote'> {
  const literals = { true: 'true', false: 'false', null: 'null' };
  for (const [name, value] of Object.entries(sample?.calls[0]?.arguments ?? {})) {
    const text = sample?.text ?? '';
    const start = (locateText(text, key + name + other.open, 0) ?? locateText(text, name + other.open, 0))?.end;
    const word = start === undefined ? undefined : /^\w+/.exec(text.slice(start))?.[0];
    const isLiteral = word?.toLowerCase() === String(value) || (value === null && word === 'None');
    if (word !== undefined && isLiteral) literals[String(value) as keyof typeof literals] = word;
  }
  return literals;
}
