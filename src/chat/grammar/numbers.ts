import { all, any, char, many, optional, text, type Rule } from './rule.ts';

// Fits a 64-bit integer: clients would read longer numbers as other ones, or not at all.
const maxDigits = 18;

/** Inclusive limits of a number, integers themselves; absent: none. */
export interface NumberBounds {
  readonly min?: number;
  readonly max?: number;
}

/** A JSON integer within limits, of at most 18 digits. */
export const integer = ({ min = -Infinity, max = Infinity }: NumberBounds = {}): Rule =>
  min === -Infinity && max === Infinity ? anyInteger : integerBetween(min, max);

/** A JSON number within limits, without exponent, with at most 18 digits before and after the point. */
export const number = ({ min = -Infinity, max = Infinity }: NumberBounds = {}): Rule =>
  min === -Infinity && max === Infinity ? anyNumber : numberBetween(min, max);

function integerBetween(min: number, max: number): Rule {
  const negative = min < 0 ? [all(text('-'), natural(Math.max(1, -max), -min))] : [];
  const nonNegative = max >= 0 ? [natural(Math.max(0, min), max)] : [];
  return any(...negative, ...nonNegative);
}

function numberBetween(min: number, max: number): Rule {
  const negative = min < 0 ? [all(text('-'), decimal(Math.max(0, -max), -min))] : [];
  const nonNegative = max >= 0 ? [decimal(Math.max(0, min), max)] : [];
  return any(...negative, ...nonNegative);
}

const digit = char('0-9');
const fraction = optional(all(text('.'), many(digit, { min: 1, max: maxDigits })));

/** A number that is not negative, with an optional fraction. */
function decimal(min: number, max: number): Rule {
  if (max === Infinity) return all(natural(min, max), fraction);
  const maxWithoutFraction = natural(max, max);
  return max > min ? any(all(natural(min, max - 1), fraction), maxWithoutFraction) : maxWithoutFraction;
}

/** An integer that is not negative. */
function natural(min: number, max: number): Rule {
  if (max !== Infinity) return any(...between(String(min), String(max)));
  const longerThan = (digits: number): Rule => all(char('1-9'), many(digit, { min: digits, max: maxDigits - 1 }));
  if (min === 0) return any(text('0'), longerThan(0));
  if (min === 1) return longerThan(0);
  const digitCount = String(min).length;
  return any(...between(String(min), '9'.repeat(digitCount)), longerThan(digitCount));
}

/** Alternatives for the integers from `low` to `high`, both in digits; those with fewer digits first. */
function between(low: string, high: string): Rule[] {
  if (low.length < high.length) {
    return [...between(low, '9'.repeat(low.length)), ...between(`1${'0'.repeat(low.length)}`, high)];
  }
  const [lowFirst = '', highFirst = ''] = [low[0], high[0]];
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  if (lowRest === '') return [digitRange(lowFirst, highFirst)];
  if (lowFirst === highFirst) return [all(text(lowFirst), any(...between(lowRest, highRest)))];
  const zeros = '0'.repeat(lowRest.length);
  const nines = '9'.repeat(lowRest.length);
  // First digits after which the other digits are free.
  const freeFrom = lowRest === zeros ? lowFirst : addToDigit(lowFirst, 1);
  const freeTo = highRest === nines ? highFirst : addToDigit(highFirst, -1);
  const freeDigits = many(digit, { min: zeros.length, max: zeros.length });
  return [
    ...(lowRest === zeros ? [] : [all(text(lowFirst), any(...between(lowRest, nines)))]),
    ...(freeFrom <= freeTo ? [all(digitRange(freeFrom, freeTo), freeDigits)] : []),
    ...(highRest === nines ? [] : [all(text(highFirst), any(...between(zeros, highRest)))]),
  ];
}

const digitRange = (first: string, last: string): Rule => (first === last ? text(first) : char(`${first}-${last}`));
const addToDigit = (digitText: string, step: 1 | -1): string => String(Number(digitText) + step);

// Without limits a rule is the same everywhere, so that a grammar has it once.
const anyInteger = integerBetween(-Infinity, Infinity);
const anyNumber = numberBetween(-Infinity, Infinity);
