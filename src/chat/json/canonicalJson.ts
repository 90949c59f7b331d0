import { isJsonObject, JsonNumber, stringifyJson, type JsonValue } from './value.ts';

/** JSON with sorted keys and numbers in one notation, so that equal values have equal texts: 1, 1.0 and 1e0 are equal. */
export function canonicalJson(value: JsonValue): string {
  if (isJsonObject(value)) {
    const members = [...value].map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
    return `{${members.sort().join()}}`;
  }
  if (value instanceof JsonNumber) return canonicalNumber(value);
  return Array.isArray(value) ? `[${value.map(canonicalJson).join()}]` : stringifyJson(value);
}

const numberParts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

// An exponent of more digits stays as it is written: reading one takes time quadratic in its length.
const maxExponentDigits = 15;

/** A number as its significant digits and an exponent: nothing is rounded. */
function canonicalNumber({ digits }: JsonNumber): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = numberParts.exec(digits) ?? [];
  if (exponent.length > maxExponentDigits) return digits;
  const significant = withoutZeros(whole + fraction);
  if (significant.text === '') return '0';
  return `${sign}${significant.text}e${Number(exponent) - fraction.length + significant.cut}`;
}

/** Digits without zeros at both ends, and how many zeros were cut at their end. */
function withoutZeros(digits: string): { readonly text: string; readonly cut: number } {
  let end = digits.length;
  while (digits[end - 1] === '0') end--;
  return { text: digits.slice(0, end).replace(/^0+/, ''), cut: digits.length - end };
}
