import { all, any, char, many, optional, text, type Rule } from '../rule.ts';

const digit = char('0-9');
const digits = (count: number): Rule => many(digit, { min: count, max: count });
const hexes = (count: number): Rule => many(char('0-9', 'a-f', 'A-F'), { min: count, max: count });
const texts = (list: string): Rule => any(...list.split(' ').map(text));

const days = (last: Rule): Rule => any(all(text('0'), char('1-9')), all(char('1-2'), digit), last);
const upTo28 = any(all(text('0'), char('1-9')), all(text('1'), digit), all(text('2'), char('0-8')));
// The multiples of 4 whose first digit is odd: 12, 16, 32, 36, ...
const oddTens = all(char('1', '3', '5', '7', '9'), char('2', '6'));
const leapYear = any(
  all(digits(2), any(all(text('0'), char('4', '8')), all(char('2', '4', '6', '8'), char('0', '4', '8')), oddTens)),
  all(any(all(char('0', '2', '4', '6', '8'), char('0', '4', '8')), oddTens), text('00')),
);
const date = any(
  all(digits(4), text('-'), texts('01 03 05 07 08 10 12'), text('-'), days(texts('30 31'))),
  all(digits(4), text('-'), texts('04 06 09 11'), text('-'), days(text('30'))),
  all(digits(4), text('-02-'), upTo28),
  all(leapYear, text('-02-29')),
);

const minuteOrSecond = all(char('0-5'), digit);
const hour = any(all(char('0-1'), digit), all(text('2'), char('0-3')));
const fraction = optional(all(text('.'), many(digit, { min: 1, max: 9 })));
const offset = any(text('Z'), all(char('+', '-'), hour, text(':'), minuteOrSecond));
const time = all(hour, text(':'), minuteOrSecond, text(':'), minuteOrSecond, fraction, offset);

const uuid = all(hexes(8), text('-'), hexes(4), text('-'), hexes(4), text('-'), hexes(4), text('-'), hexes(12));

const alphanumerics = many(char('0-9', 'a-z', 'A-Z'), { min: 1, max: 24 });
const email = all(
  many(many(char('0-9', 'a-z', 'A-Z', '_', '+', '-'), { min: 1, max: 32 }), { min: 1, max: 2, separator: '.' }),
  text('@'),
  many(many(alphanumerics, { min: 1, max: 2, separator: '-' }), { min: 2, max: 4, separator: '.' }),
);

/**
 * The supported string formats: `date`, `time` and `date-time` of RFC 3339 (with an offset), `uuid` of RFC 4122, and
 * `email` addresses of ASCII letters, digits and `_ + - .`. The
 * rules are of the characters, without quotes.
 */
export const stringFormats: ReadonlyMap<string, Rule> = new Map(
  Object.entries({ date, time, 'date-time': all(date, text('T'), time), uuid, email }),
);
