import { all, any, char, many, text, type ManyRule, type Rule } from './rule.ts';

const hex = char('0-9', 'a-f', 'A-F');
const twoDigits = many(hex, { min: 2, max: 2 });

/** The digits after `\u`: no surrogate, or a whole surrogate pair, for half of one is no character. */
export const hexCodePoint = any(
  all(char('0-9', 'a-c', 'e-f', 'A-C', 'E-F'), many(hex, { min: 3, max: 3 })),
  all(char('d', 'D'), char('0-7'), twoDigits),
  all(char('d', 'D'), char('8-9', 'a-b', 'A-B'), twoDigits, text('\\u'), char('d', 'D'), char('c-f', 'C-F'), twoDigits),
);

/** A character of a JSON string, as itself or escaped. */
const character = any(
  {
    kind: 'char',
    ranges: [
      [0x20, 0x21],
      [0x23, 0x5b],
      [0x5d, 0xd7ff],
      [0xe000, 0x10ffff],
    ],
  },
  all(text('\\'), any(char('"', '\\', 'b', 'f', 'n', 'r', 't'), all(text('u'), hexCodePoint))),
);

/** A rule in the quotes of a JSON string. */
export const quoted = (rule: Rule): Rule => all(text('"'), rule, text('"'));

/** Any JSON string. */
export const anyString = quoted(many(character, { min: 0 }));

/** A JSON string with a limited number of characters. The same limits give the same rule, which is then written once. */
export function string(length: Pick<ManyRule, 'min' | 'max'>): Rule {
  const { min, max } = length;
  if (min === 0 && max === undefined) return anyString;
  const key = `${min} ${max}`;
  const rule = stringsByLength.get(key) ?? quoted(many(character, length));
  if (stringsByLength.size >= maxKnownStrings) stringsByLength.clear();
  stringsByLength.set(key, rule);
  return rule;
}

const stringsByLength = new Map<string, Rule>();
const maxKnownStrings = 1000;
