import { all, any, char, many, optional, text, type Rule } from './rule.ts';

// What a program can hold: more digits than that become another number, or none, for whoever reads them.
const mostDigits = 18;

/** Limits of a number, both included; absent: none. */
export interface Limits {
  readonly least?: number;
  readonly most?: number;
}

/** A JSON integer within limits that are integers themselves. */
export function integer({ least = -Infinity, most = Infinity }: Limits = {}): Rule {
  const below = least < 0 ? [all(text('-'), natural(Math.max(1, -most), -least))] : [];
  const above = most >= 0 ? [natural(Math.max(0, least), most)] : [];
  return any(...below, ...above);
}

/** A JSON number within limits that are integers; never with an exponent. */
export function number({ least = -Infinity, most = Infinity }: Limits = {}): Rule {
  const below = least < 0 ? [all(text('-'), decimal(Math.max(0, -most), -least))] : [];
  const above = most >= 0 ? [decimal(Math.max(0, least), most)] : [];
  return any(...below, ...above);
}

const digit = char('0-9');
const fraction = optional(all(text('.'), many(digit, { least: 1, most: mostDigits })));

function decimal(least: number, most: number): Rule {
  if (most === Infinity) return all(natural(least, most), fraction);
  const whole = natural(most, most);
  return most > least ? any(all(natural(least, most - 1), fraction), whole) : whole;
}

/** Digits of an integer that is not negative. */
function natural(least: number, most: number): Rule {
  if (most !== Infinity) return any(...between(String(least), String(most)));
  const longer = (length: number): Rule => all(char('1-9'), many(digit, { least: length, most: mostDigits - 1 }));
  if (least === 0) return any(text('0'), longer(0));
  if (least === 1) return longer(0);
  const length = String(least).length;
  return any(...between(String(least), '9'.repeat(length)), longer(length));
}

/** Ways to write the integers between two, the shorter ones first. */
function between(low: string, high: string): Rule[] {
  if (low.length < high.length) {
    return [...between(low, '9'.repeat(low.length)), ...between(`1${'0'.repeat(low.length)}`, high)];
  }
  const [first = '', last = ''] = [low[0], high[0]];
  const [lows, highs] = [low.slice(1), high.slice(1)];
  if (lows === '') return [range(first, last)];
  if (first === last) return [all(text(first), any(...between(lows, highs)))];
  const zeros = '0'.repeat(lows.length);
  const nines = '9'.repeat(lows.length);
  const from = lows === zeros ? first : next(first, 1);
  const to = highs === nines ? last : next(last, -1);
  return [
    ...(lows === zeros ? [] : [all(text(first), any(...between(lows, nines)))]),
    ...(from <= to ? [all(range(from, to), many(digit, { least: zeros.length, most: zeros.length }))] : []),
    ...(highs === nines ? [] : [all(text(last), any(...between(zeros, highs)))]),
  ];
}

const range = (from: string, to: string): Rule => (from === to ? text(from) : char(`${from}-${to}`));
const next = (digitBefore: string, step: 1 | -1): string => String(Number(digitBefore) + step);
