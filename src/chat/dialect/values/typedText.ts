import { isOfType, type JsonValue } from '../../json/value.ts';
import { parseJsonAt } from '../../json/lenientParser.ts';
import type { ValueStyle } from '../layout.ts';
import { expectedTypes, type ResolvedSchema } from '../../tools/resolvedSchema.ts';
import type { ValuePosition } from './valueNotation.ts';

/** The value that a raw text stands for. */
export interface TypedText {
  readonly value: JsonValue;
  /** Whether it was no strict JSON where it had to be. */
  readonly repaired: boolean;
}

/**
 * The value of a raw text by its schema:
 *
 * | the schema allows     | the value is                                                                      |
 * | --------------------- | --------------------------------------------------------------------------------- |
 * | only strings          | the text, but null where it may be null                                           |
 * | no string             | JSON, else lenient JSON (Python's literals included), else the text               |
 * | strings and others    | the text, unless it is JSON of one of the other types                             |
 * | anything, or unknown  | the text, unless it is a number, a boolean, null, a list or an object in JSON     |
 *
 * A text in a CDATA section of XML (MiniCPM5) is what the section holds: a string wherever the schema allows one.
 */
export function readTypedText(
  text: string,
  position: Pick<ValuePosition, 'schema' | 'mayBeNull'>,
  style: ValueStyle,
): TypedText {
  const { schema } = position;
  const types = expectedTypes(schema);
  const section = cdataContent(text);
  if (section !== undefined)
    return !types || types.has('string') ? { value: section, repaired: false } : readJsonText(section, style);
  if (!types || types.has('string')) return readMixed(text, { ...position, types, style });
  return readJsonText(text, style);
}

/** What a CDATA section holds; undefined: the text is none. */
function cdataContent(text: string): string | undefined {
  const content = text.trim();
  const isSection = content.startsWith('<![CDATA[') && content.endsWith(']]>');
  return isSection ? content.slice('<![CDATA['.length, -']]>'.length) : undefined;
}

/** The value of a raw text that is JSON; the text itself where it is not. */
export function readJsonText(text: string, style: ValueStyle): TypedText {
  const content = text.trim();
  const value = parseStrict(content, style);
  if (value !== undefined) return { value, repaired: false };
  const repaired = parseWhole(content, true);
  return { value: repaired ?? text, repaired: repaired !== undefined };
}

/** What a raw text is read by. */
interface MixedTypes extends Pick<ValuePosition, 'schema' | 'mayBeNull'> {
  readonly types: ReadonlySet<string> | undefined;
  readonly style: ValueStyle;
}

function readMixed(text: string, { schema, mayBeNull, types, style }: MixedTypes): TypedText {
  const strings = fixedStrings(schema);
  const content = text.trim();
  if (strings.includes(text)) return { value: text, repaired: false };
  if (strings.includes(content)) return { value: content, repaired: true };
  if (mayBeNull && [style.null, 'null', 'None'].includes(content)) return { value: null, repaired: false };
  if (types?.size === 1) return { value: text, repaired: false };
  const isOther = (value: JsonValue | undefined): value is JsonValue =>
    value !== undefined && typeof value !== 'string' && (!types || isExpected(value, types));
  const strict = parseStrict(content, style);
  if (isOther(strict)) return { value: strict, repaired: false };
  const lenient = types || /^[[{]/.test(content) ? parseWhole(content, true) : undefined;
  return isOther(lenient) ? { value: lenient, repaired: true } : { value: text, repaired: false };
}

function parseStrict(content: string, style: ValueStyle): JsonValue | undefined {
  if (content === '') return undefined;
  if (content === style.true) return true;
  if (content === style.false) return false;
  return content === style.null ? null : parseWhole(content, false);
}

function parseWhole(content: string, lenient: boolean): JsonValue | undefined {
  const parsed = parseJsonAt(content, 0, { lenient });
  return parsed.ok && parsed.end === content.length ? parsed.value : undefined;
}

/** The strings that a schema allows, where it lists them. */
const fixedStrings = (schema: ResolvedSchema | undefined): readonly string[] =>
  (schema?.anyOf ?? [schema]).flatMap((each) => each?.enum ?? []).filter((value) => typeof value === 'string');

/** Whether a value has one of these types. */
export const isExpected = (value: JsonValue, types: ReadonlySet<string>): boolean =>
  [...types].some((type) => isOfType(value, type));
