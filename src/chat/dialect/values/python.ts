import { memoized } from '../../../base/memoized.ts';
import { onceForLimits, type RepetitionLimits } from '../../grammar/jsonRules.ts';
import { all, any, char, many, text, type Rule } from '../../grammar/rule.ts';
import { charExcept } from '../../grammar/textWithout.ts';
import type { ValueStyle } from '../layout.ts';
import { looseMark } from '../looseMark.ts';
import { readLiteral } from './literalReader.ts';
import {
  limitedText,
  pythonLiteralStyle,
  spellOther,
  textsRule,
  readPythonString,
  writePythonString,
} from './pythonLiteral.ts';
import type { ValueNotation } from './valueNotation.ts';

/**
 * Values of the arguments of a Python call, as LFM2 writes them: strings in quotes (`layout.style.quote`), True, False,
 * None, numbers; lists, tuples, sets and dicts in Python or JSON. What Python would have to compute is no value. Reading takes both quotes, both spellings of literals, line breaks in
 * strings, strings whose own quotes are not escaped, and text without quotes (repaired).
 *
 * A grammar lets through a quote within a string where neither white space nor what may follow a string comes after it,
 * but none in a string with a limited length.
 */
export const python: ValueNotation = {
  name: 'python',
  explains: ({ style }) => /^["']$/.test(style.quote),
  read: (position) =>
    readLiteral(position, { string: readPythonString, after: looseMark(position.after), isPython: true }),
  spell,
  rules({ style }) {
    const nested = pythonLiteralStyle(style);
    return {
      value: {
        ...nested,
        string: onceForLimits((limits) => quotedText(style.quote, limits)),
        formatted: memoized((content) => all(text(style.quote), content, text(style.quote))),
        values: (values) => textsRule(values.map((value) => spell(value, style))),
      },
      nested,
    };
  },
};

function spell(value: unknown, style: ValueStyle): string {
  return typeof value === 'string' ? writePythonString(value, style.quote) : spellOther(value, style);
}

/** A string as templates write it: raw, with quotes of its own that cannot be taken for its end. */
function quotedText(quote: string, limits: RepetitionLimits): Rule {
  if (limits.max !== undefined) return limitedText(quote, limits);
  const whiteSpace = many(char(' ', '\n', '\t'), { min: 0 });
  const ownQuote = all(text(quote), whiteSpace, charExcept([' ', '\n', '\t', '\r', quote, '\\', ...',)]}:;<']));
  const character = any(charExcept([quote, '\\']), all(text('\\'), charExcept([])), ownQuote);
  return all(text(quote), many(character, limits), text(quote));
}
