import { isJsonObject, JsonNumber, stringifyJson, type JsonValue } from '../../json/value.ts';
import { jsonStyle, memoized, type RepetitionLimits, type RuleStyle } from '../../grammar/jsonSchema/ruleStyle.ts';
import { all, any, anyOf, char, list, many, text, type Rule } from '../../grammar/rule.ts';
import { hexCodePoint } from '../../grammar/strings.ts';
import { charExcept } from '../../grammar/textWithout.ts';
import type { ValueStyle } from '../layout.ts';
import { anyValue, knownByDepth, knownByLimits } from './markedStyle.ts';
import { writePythonString } from './pythonString.ts';

/** A value as Python's `repr` writes it; takes plain data too. */
export function pythonLiteral(value: unknown): string {
  if (typeof value === 'string')
    return writePythonString(value, value.includes("'") && !value.includes('"') ? '"' : "'");
  if (value === null) return 'None';
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (value instanceof JsonNumber || typeof value === 'number') return stringifyJson(value);
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(', ')}]`;
  const members = isJsonObject(value as JsonValue)
    ? [...(value as ReadonlyMap<string, unknown>)]
    : Object.entries(value as object);
  return `{${members.map(([key, member]) => `${pythonLiteral(key)}: ${pythonLiteral(member)}`).join(', ')}}`;
}

/** Values in lists and dicts: in Python or in JSON. */
export function pythonLiteralStyle(written: Pick<ValueStyle, 'true' | 'false' | 'null'>): RuleStyle {
  const apostrophe = text("'");
  const style: RuleStyle = {
    boolean: textsRule([written.true, written.false, 'true', 'false']),
    null: textsRule([written.null, 'null']),
    get nested() {
      return style;
    },
    string: knownByLimits((limits) => any(jsonStyle.string(limits), limitedText("'", limits))),
    formatted: memoized((content) => any(jsonStyle.formatted(content), all(apostrophe, content, apostrophe))),
    number: (rule) => rule,
    list,
    object: (members) =>
      all(
        text('{'),
        {
          kind: 'members',
          members: members.map((member) => ({
            ...member,
            before: all(textsRule([JSON.stringify(member.key), pythonLiteral(member.key)]), text(': ')),
          })),
        },
        text('}'),
      ),
    any: knownByDepth((depth) => anyValue(style, depth)),
    anyObject: knownByDepth((depth) =>
      all(
        text('{'),
        many(all(style.string({ min: 0 }), text(': '), style.any(depth)), { min: 0, separator: ', ' }),
        text('}'),
      ),
    ),
    values: (values) => textsRule(values.flatMap((value) => [stringifyJson(value), pythonLiteral(value)])),
  };
  return style;
}

/** One of these texts. */
export const textsRule = (texts: readonly string[]): Rule => anyOf([...new Set(texts)].map(text));

const escape = all(text('\\'), any(char('n', 'r', 't', '"', "'", '\\'), all(text('u'), hexCodePoint)));

/** A string that has no quotes of its own but escaped ones. */
export const limitedText = (quote: string, limits: RepetitionLimits): Rule =>
  all(text(quote), many(any(charExcept([quote, '\\']), escape), limits), text(quote));
