import { hasJsonType, isObject } from '../../../base/jsonTypes.ts';

type JsonSchema = Readonly<Record<string, unknown>>;

/** Receives what was understood: the keyword and the end of a sentence about it. */
type WarnOfKeyword = (keyword: string, message: string) => void;

/**
 * A schema whose keywords say what was meant: numbers and booleans that were written as texts, values of a list's items that
 * stand next to `items`, and `optional`, which JSON Schema does not have.
 * @param type its type, with the name of JSON.
 */
export function readLooseKeywords(schema: JsonSchema, type: unknown, warn: WarnOfKeyword): JsonSchema {
  const read = Object.entries(schema).flatMap(([keyword, value]): readonly (readonly [string, unknown])[] => {
    if (keyword === 'optional') {
      warn(keyword, 'is not used: a parameter is optional if "required" of its object does not name it');
      return [];
    }
    if (keyword === 'enum') return [[keyword, typedValues(value, type, warn)]];
    if (!counts.has(keyword) || typeof value !== 'string') return [[keyword, value]];
    const count = typedValue(value, 'number');
    if (count !== value) warn(keyword, `is a text, which is read as ${count}; write it without quotes`);
    return [[keyword, count]];
  });
  return withItemValues(Object.fromEntries(read), type, warn);
}

const counts: ReadonlySet<string> = new Set(
  'minItems maxItems minLength maxLength minimum maximum exclusiveMinimum exclusiveMaximum'.split(' '),
);

function typedValues(values: unknown, type: unknown, warn: WarnOfKeyword): unknown {
  if (!Array.isArray(values) || type === 'string' || typeof type !== 'string') return values;
  const typed = values.map((value: unknown) => (typeof value === 'string' ? typedValue(value, type) : value));
  if (typed.some((value, index) => value !== values[index]))
    warn('enum', `has texts, which are read as values of the type ${type}; write them without quotes`);
  return typed;
}

/** What a text says as a value of a type; the text itself if it says none. */
function typedValue(text: string, type: string): unknown {
  try {
    const value: unknown = JSON.parse(/^(?:true|false)$/i.test(text) ? text.toLowerCase() : text);
    return hasJsonType(value, type) ? value : text;
  } catch {
    return text;
  }
}

// A list can equal none of them.
function withItemValues(schema: JsonSchema, type: unknown, warn: WarnOfKeyword): JsonSchema {
  const { items, enum: values, ...rest } = schema;
  const isOfItems = type === 'array' && isObject(items) && Array.isArray(values) && !values.some(Array.isArray);
  if (!isOfItems || 'enum' in items) return schema;
  warn('enum', 'has no list, so it is read as the values of the items; move it into "items"');
  return { ...rest, items: { ...items, enum: values } };
}
