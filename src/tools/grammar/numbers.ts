import { all, any, char, many, optional, text, type Rule } from './rule.ts';

// What a program can hold: more digits than that become another number, or none, for whoever reads them.
const maxDigits = 18;

/** Limits of a number, both included; absent: none. */
export interface NumberBounds {
  readonly least?: number;
  readonly most?: number;
}

/** A JSON integer within limits that are integers themselves. */
export function integer({ least: min = -Infinity, most: max = Infinity }: NumberBounds = {}): Rule {
  const below = min < 0 ? [all(text('-'), natural(Math.max(1, -max), -min))] : [];
  const above = max >= 0 ? [natural(Math.max(0, min), max)] : [];
  return any(...below, ...above);
}

/** A JSON number within limits that are integers; never with an exponent. */
export function number({ least: min = -Infinity, most: max = Infinity }: NumberBounds = {}): Rule {
  const below = min < 0 ? [all(text('-'), decimal(Math.max(0, -max), -min))] : [];
  const above = max >= 0 ? [decimal(Math.max(0, min), max)] : [];
  return any(...below, ...above);
}

const digit = char('0-9');
const fraction = optional(all(text('.'), many(digit, { min: 1, max: maxDigits })));

function decimal(min: number, max: number): Rule {
  if (max === Infinity) return all(natural(min, max), fraction);
  const whole = natural(max, max);
  return max > min ? any(all(natural(min, max - 1), fraction), whole) : whole;
}

/** Digits of an integer that is not negative. */
function natural(min: number, max: number): Rule {
  if (max !== Infinity) return any(...between(String(min), String(max)));
  const longer = (length: number): Rule => all(char('1-9'), many(digit, { min: length, max: maxDigits - 1 }));
  if (min === 0) return any(text('0'), longer(0));
  if (min === 1) return longer(0);
  const length = String(min).length;
  return any(...between(String(min), '9'.repeat(length)), longer(length));
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
    ...(from <= to ? [all(range(from, to), many(digit, { min: zeros.length, max: zeros.length }))] : []),
    ...(highs === nines ? [] : [all(text(last), any(...between(zeros, highs)))]),
  ];
}

const range = (from: string, to: string): Rule => (from === to ? text(from) : char(`${from}-${to}`));
const next = (digitBefore: string, step: 1 | -1): string => String(Number(digitBefore) + step);
