import { openingFenceBefore, pastClosingFence, pastOpeningFence } from './codeFences.ts';
import type { Found } from './callSpan.ts';
import { pastSeparators } from './objectList.ts';
import { readValue } from '../json/lenientParser.ts';
import { pastClosers, withoutEndTokens } from './tags.ts';
import { isMembers, jsonText, type Value } from '../json/value.ts';

/** The text around the calls, without what only held them together or only repeats their arguments. */
export function residualOf(text: string, found: readonly Found[]): string {
  if (found.length === 0) return withoutEndTokens(text).trim();
  const pieces: string[] = [];
  let at = 0;
  let fence: Fence = 'none';
  for (const { start, rawStart, end } of found) {
    const before = pieceBefore(text.slice(at, start), fence);
    pieces.push(before.piece);
    fence = text.slice(start, rawStart).includes('```') ? 'around calls' : before.fence;
    at = pastClosers(text, end);
    const closed: number | undefined = fence === 'around calls' ? pastClosingFence(text, at) : undefined;
    if (closed !== undefined) [fence, at] = ['none', pastClosers(text, closed)];
    at = pastLink(text, at);
  }
  pieces.push(withoutEndTokens(text.slice(at)));
  const said = pieces.map((piece) => piece.trim()).filter((piece) => pastSeparators(piece, 0) < piece.length);
  if (!said.some((piece) => /^[{`]/.test(piece))) return said.join('\n');
  const echoes = new Set(found.flatMap(({ calls }) => calls.map((call) => canonical(call.arguments))));
  return said.filter((piece) => !isEcho(piece, echoes)).join('\n');
}

/** The fence in which a walk over the text stands: one that holds calls only, or one that stays in the text. */
type Fence = 'none' | 'around calls' | 'in the text';

// The bracket of a list whose end is missing goes with the first call in it, and so does the fence that it opens.
function pieceBefore(whole: string, before: Fence): { readonly piece: string; readonly fence: Fence } {
  if (whole.trim() === '') return { piece: '', fence: before };
  const marks = [...whole.matchAll(/`{3,}/g)].length;
  if (marks === 0 && before !== 'none') return { piece: whole, fence: before };
  const isOpen = (before === 'none') === (marks % 2 === 1);
  const trimmed = whole.trimEnd();
  const piece = trimmed.endsWith('[') ? trimmed.slice(0, -1) : trimmed;
  const opening = isOpen ? openingFenceBefore(piece, piece.length) : undefined;
  if (opening !== undefined) return { piece: piece.slice(0, opening), fence: 'around calls' };
  return { piece, fence: isOpen ? 'in the text' : 'none' };
}

// Separators that lead to another object or to closers go too; before prose they belong to it.
function pastLink(text: string, at: number): number {
  const next = pastSeparators(text, at);
  if (text[next] === '{') return next;
  const closed = pastClosers(text, next);
  return closed === next ? at : closed;
}

function isEcho(piece: string, echoes: ReadonlySet<string>): boolean {
  const start = piece.startsWith('```') ? pastOpeningFence(piece, 0) : 0;
  if (piece[start] !== '{') return false;
  const read = readValue(piece, start);
  if (!read.ok || !echoes.has(canonical(read.value))) return false;
  return read.end === piece.length || (start > 0 && pastClosingFence(piece, read.end) === piece.length);
}

// Equal objects have equal texts, whatever the order of their keys.
function canonical(value: Value): string {
  if (isMembers(value)) {
    const members = [...value].map(([key, member]) => `${JSON.stringify(key)}:${canonical(member)}`);
    return `{${members.sort().join()}}`;
  }
  return Array.isArray(value) ? `[${value.map(canonical).join()}]` : jsonText(value);
}
