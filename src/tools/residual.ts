import { openingFenceBefore, pastClosingFence, pastOpeningFence } from './fences.ts';
import type { Found } from './findings.ts';
import { pastSeparators } from './run.ts';
import { readValue } from './scan.ts';
import { pastClosers, withoutEndTokens } from './tags.ts';
import { isMembers, jsonText, type Value } from './value.ts';

/** The text around the calls, without what only held them together or only repeats their arguments. */
export function residualOf(text: string, found: readonly Found[]): string {
  const pieces: string[] = [];
  let at = 0;
  let fenced = false;
  for (const { start, end } of found) {
    const before = pieceBefore(text, at, start);
    pieces.push(before.piece);
    fenced ||= before.fenced;
    const closed = pastClosers(text, end);
    const fence: number | undefined = fenced ? pastClosingFence(text, closed) : undefined;
    fenced &&= fence === undefined;
    at = fence === undefined ? closed : pastClosers(text, fence);
    const next = pastSeparators(text, at);
    if (text[next] === '{') at = next;
  }
  pieces.push(withoutEndTokens(text.slice(at)));
  if (found.length === 0) return pieces.join('').trim();
  const echoes = new Set(found.flatMap(({ calls }) => calls.map((call) => canonical(call.arguments))));
  return pieces
    .map((piece) => piece.trim())
    .filter((piece) => pastSeparators(piece, 0) < piece.length && !isEcho(piece, echoes))
    .join('\n');
}

// The bracket of a list whose end is missing goes with the first call in it.
function pieceBefore(text: string, from: number, start: number): { readonly piece: string; readonly fenced: boolean } {
  const piece = text.slice(from, start).trimEnd();
  const outside = piece.endsWith('[') ? piece.slice(0, -1) : piece;
  const fence = openingFenceBefore(outside, outside.length);
  return { piece: outside.slice(0, fence), fenced: fence !== undefined };
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
