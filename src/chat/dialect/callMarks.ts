import type { CallLayout } from './layout.ts';
import { isMark, lexemes } from './marks.ts';

/** The marks that a layout writes around calls and values, each once. */
export function callMarks({
  header,
  open,
  close,
  separator = '',
  before,
  between,
  after,
  arguments: notation,
}: CallLayout): readonly string[] {
  const parts = [header, open, ...before, ...between, ...after, separator, close];
  if (notation.kind === 'parameters') {
    const { key, string, other, style } = notation;
    parts.push(notation.open, key, string.open, string.close, other.open, other.close, notation.separator, style.quote);
  }
  const texts = parts.filter((part) => typeof part === 'string');
  return [...new Set(texts.flatMap(lexemes).filter(isMark))];
}
