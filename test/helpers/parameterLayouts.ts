import { isJsonObject, JsonNumber, type JsonValue } from '../../src/chat/json/value.ts';
import type { ParameterLayout } from '../../src/chat/dialect/layout.ts';
import { SearchedText } from '../../src/chat/markSearch.ts';
import { ParameterReader } from '../../src/chat/dialect/values/parameterList.ts';
import { resolvedParameters } from '../../src/chat/tools/resolvedSchema.ts';
import type { ArgumentsSchema } from '../../src/chat/tool.ts';

const jsonWords = { true: 'true', false: 'false', null: 'null' };
const pythonWords = { true: 'True', false: 'False', null: 'None' };

/** `<arg=KEY>`, a line break, the value, a line break, `</arg>`; a call ends with `</call>`. */
export const linesLayout: ParameterLayout = {
  kind: 'parameters',
  values: 'tagged',
  open: '\n',
  separator: '\n',
  empty: '',
  key: '<arg=',
  string: { open: '>\n', close: '\n</arg>' },
  other: { open: '>\n', close: '\n</arg>' },
  style: { quote: '', ...pythonWords },
};

/** `<k>KEY</k>`, a line break, `<v>VALUE</v>`. */
export const pairsLayout: ParameterLayout = {
  ...linesLayout,
  open: '',
  key: '<k>',
  string: { open: '</k>\n<v>', close: '</v>' },
  other: { open: '</k>\n<v>', close: '</v>' },
  style: { quote: '', ...jsonWords },
};

/** `<p name="KEY" text="yes">VALUE</p>`, with "no" for values that are no strings. */
export const typedLayout: ParameterLayout = {
  ...pairsLayout,
  key: '<p name="',
  string: { open: '" text="yes">', close: '</p>' },
  other: { open: '" text="no">', close: '</p>' },
};

/** `{KEY:<|s|>text<|s|>,KEY:1}` */
export const keyValueLayout: ParameterLayout = {
  kind: 'parameters',
  values: 'keyValue',
  open: '{',
  separator: ',',
  empty: '{',
  key: '',
  string: { open: ':', close: '' },
  other: { open: ':', close: '' },
  style: { quote: '<|s|>', ...jsonWords },
};

/** `(KEY='text', KEY=1)` */
export const pythonLayout: ParameterLayout = {
  ...keyValueLayout,
  values: 'python',
  open: '(',
  empty: '(',
  separator: ', ',
  string: { open: '=', close: '' },
  other: { open: '=', close: '' },
  style: { quote: "'", ...pythonWords },
};

/** All layouts, with the text after the last parameter of a call. */
export const layouts: readonly { readonly name: string; readonly layout: ParameterLayout; readonly after: string }[] = [
  { name: 'lines', layout: linesLayout, after: '\n</call>' },
  { name: 'pairs', layout: pairsLayout, after: '</call>' },
  { name: 'typed', layout: typedLayout, after: '\n</call>' },
  { name: 'keyValue', layout: keyValueLayout, after: '}<call|>' },
  { name: 'python', layout: pythonLayout, after: ')]' },
];

/** Properties of a schema of arguments. */
export type Properties = Readonly<Record<string, Readonly<Record<string, unknown>>>>;

/**
 * The arguments of a call as plain data: the parameters, `repaired` if they were, and `rest`, the text behind them, where
 * it is not `after`. A reason in words where they could not be read.
 */
export function readArguments(
  text: string,
  { layout, after, properties }: { layout: ParameterLayout; after: string; properties?: Properties | undefined },
): unknown {
  const result = new ParameterReader(new SearchedText(text), {
    layout,
    after,
    schema: properties && resolvedParameters({ parameters: argumentsSchema(properties) }),
  }).read(0);
  if (!result.ok) return result.truncated ? 'truncated' : 'unreadable';
  const rest = text.slice(result.end).trim();
  return {
    ...(toPlain(result.arguments) as object),
    ...(result.repaired && { repaired: true }),
    ...(rest !== after.trim() && { rest }),
  };
}

/** A JSON Schema of arguments. */
export const argumentsSchema = (properties: Properties, required: readonly string[] = []): ArgumentsSchema => ({
  type: 'object',
  properties: properties as NonNullable<ArgumentsSchema['properties']>,
  required,
});

/** A parsed value as plain data. */
function toPlain(value: JsonValue): unknown {
  if (value instanceof JsonNumber) return Number(value.digits);
  if (isJsonObject(value)) return Object.fromEntries([...value].map(([key, item]) => [key, toPlain(item)]));
  return Array.isArray(value) ? value.map(toPlain) : value;
}

/** Plain data as a parsed value. */
export function toJsonValue(value: unknown): JsonValue {
  if (typeof value === 'number') return new JsonNumber(JSON.stringify(value));
  if (Array.isArray(value)) return value.map(toJsonValue);
  if (typeof value !== 'object' || value === null) return value as JsonValue;
  return new Map(Object.entries(value).map(([key, item]) => [key, toJsonValue(item)]));
}
