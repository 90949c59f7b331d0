import { lexemes } from '../../dialect/marks.ts';

/** The longest text of whole lexemes with which both texts start. */
export function commonStart(a: string, b: string): string {
  const [inA, inB] = [lexemes(a), lexemes(b)];
  let count = 0;
  while (count < inA.length && inA[count] === inB[count]) count++;
  return inA.slice(0, count).join('');
}

/** The longest text of whole lexemes with which both texts end. */
export function commonEnd(a: string, b: string): string {
  const [inA, inB] = [lexemes(a), lexemes(b)];
  let count = 0;
  while (count < Math.min(inA.length, inB.length) && inA.at(-1 - count) === inB.at(-1 - count)) count++;
  return inA.slice(inA.length - count).join('');
}

/** A text without another one with which it ends. */
export const withoutEnd = (text: string, end: string): string =>
  end !== '' && text.endsWith(end) ? text.slice(0, -end.length) : text;
