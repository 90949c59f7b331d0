import type { ParameterLayout } from '../layout.ts';
import { indexOfMark } from '../looseMark.ts';

export interface ParameterKey {
  readonly name: string;
  /** Index after it: the mark before the value follows. */
  readonly end: number;
}

/** The key from an index to the mark before a value, without quotes; undefined: none, or it is too long. */
export function readKey(text: string, index: number, layout: ParameterLayout): ParameterKey | undefined {
  const near = text.slice(index, index + maxKeyLength);
  const { string, other } = layout;
  const stringOpen = indexOfMark(string.open, near);
  const end = string.open === other.open ? stringOpen : Math.min(stringOpen, indexOfMark(other.open, near));
  if (end === Infinity) return undefined;
  const name = unquote(near.slice(0, end).trim(), layout.style.quote);
  return name === '' || (layout.key === '' && !bareKey.test(name)) ? undefined : { name, end: index + end };
}

/** Why a layout cannot write a key, as the end of a sentence; undefined: it can. */
export function keyProblem(key: string, layout: ParameterLayout): string | undefined {
  const canRead = [layout.string.open, layout.other.open].every((open) => readKey(key + open, 0, layout)?.name === key);
  return canRead ? undefined : 'the tool-call format of the model cannot write';
}

/** What a key looks like where no mark stands before it. */
const bareKey = /^[\p{L}_$][\p{L}\p{M}\p{N}_.$ -]*$/u;

/** UTF-16 units of a key with the mark after it: a longer text does not end within a key. */
export const maxKeyLength = 256;

function unquote(key: string, quoteMark: string): string {
  const quote = quoteMark !== '' && key.startsWith(quoteMark) ? quoteMark : (key[0] ?? '');
  if (quote !== quoteMark && quote !== '"' && quote !== "'") return key;
  const isQuoted = quote !== '' && key.length >= 2 * quote.length && key.endsWith(quote);
  return isQuoted ? key.slice(quote.length, key.length - quote.length) : key;
}
