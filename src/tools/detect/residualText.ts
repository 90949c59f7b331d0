import { openingFenceBefore, skipClosingFence, skipOpeningFence } from './codeFences.ts';
import type { CallSpan } from './callSpan.ts';
import { skipSeparators } from './objectList.ts';
import { parseJsonAt } from '../json/lenientParser.ts';
import { skipClosers, withoutEndTokens } from './tags.ts';
import { isJsonObject, stringifyJson, type JsonValue } from '../json/value.ts';

/** The text around the calls, without what only held them together or only repeats their arguments. */
export function residualText(text: string, spans: readonly CallSpan[]): string {
  if (spans.length === 0) return withoutEndTokens(text).trim();
  const pieces: string[] = [];
  let at = 0;
  let fence: FenceState = 'none';
  for (const { start, rawStart, end } of spans) {
    const before = textBefore(text.slice(at, start), fence);
    pieces.push(before.piece);
    fence = text.slice(start, rawStart).includes('```') ? 'around calls' : before.fence;
    at = skipClosers(text, end);
    const closed: number | undefined = fence === 'around calls' ? skipClosingFence(text, at) : undefined;
    if (closed !== undefined) [fence, at] = ['none', skipClosers(text, closed)];
    at = skipLink(text, at);
  }
  pieces.push(withoutEndTokens(text.slice(at)));
  const said = pieces.map((piece) => piece.trim()).filter((piece) => skipSeparators(piece, 0) < piece.length);
  if (!said.some((piece) => /^[{`]/.test(piece))) return said.join('\n');
  const echoes = new Set(spans.flatMap(({ calls }) => calls.map((call) => canonicalJson(call.arguments))));
  return said.filter((piece) => !isEcho(piece, echoes)).join('\n');
}

/** The fence in which a walk over the text stands: one that holds calls only, or one that stays in the text. */
type FenceState = 'none' | 'around calls' | 'in the text';

// The bracket of a list whose end is missing goes with the first call in it, and so does the fence that it opens.
function textBefore(whole: string, before: FenceState): { readonly piece: string; readonly fence: FenceState } {
  if (whole.trim() === '') return { piece: '', fence: before };
  const marks = [...whole.matchAll(/`{3,}/g)].length;
  if (marks === 0 && before !== 'none') return { piece: whole, fence: before };
  const isOpen = (before === 'none') === (marks % 2 === 1);
  const trimmed = whole.trimEnd();
  const piece = trimmed.endsWith('[') ? trimmed.slice(0, -1) : trimmed;
  const trigger = isOpen ? openingFenceBefore(piece, piece.length) : undefined;
  if (trigger !== undefined) return { piece: piece.slice(0, trigger), fence: 'around calls' };
  return { piece, fence: isOpen ? 'in the text' : 'none' };
}

// Separators that lead to another object or to closers go too; before prose they belong to it.
function skipLink(text: string, at: number): number {
  const next = skipSeparators(text, at);
  if (text[next] === '{') return next;
  const closed = skipClosers(text, next);
  return closed === next ? at : closed;
}

function isEcho(piece: string, echoes: ReadonlySet<string>): boolean {
  const start = piece.startsWith('```') ? skipOpeningFence(piece, 0) : 0;
  if (piece[start] !== '{') return false;
  const read = parseJsonAt(piece, start);
  if (!read.ok || !echoes.has(canonicalJson(read.value))) return false;
  return read.end === piece.length || (start > 0 && skipClosingFence(piece, read.end) === piece.length);
}

// Equal objects have equal texts, whatever the order of their keys.
function canonicalJson(value: JsonValue): string {
  if (isJsonObject(value)) {
    const members = [...value].map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
    return `{${members.sort().join()}}`;
  }
  return Array.isArray(value) ? `[${value.map(canonicalJson).join()}]` : stringifyJson(value);
}
