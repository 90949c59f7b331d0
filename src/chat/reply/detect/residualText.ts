import { openingFenceBefore, skipClosingFence, skipOpeningFence } from './markdownCode.ts';
import type { CallSpan } from './callSpan.ts';
import { canonicalJson } from '../../json/canonicalJson.ts';
import { parseJsonAt } from '../../json/lenientParser.ts';
import { skipSeparators } from '../../json/separators.ts';
import { withoutEndTokens, type TagSet } from './tags.ts';

/**
 * The text around the calls, without what only wraps the calls (tags, brackets, code fences, separators, end tokens)
 * and without JSON that only repeats the arguments of a call. The pieces between calls become lines.
 */
export function residualText(text: string, spans: readonly CallSpan[], tags: TagSet): string {
  if (spans.length === 0) return withoutEndTokens(text).trim();
  const pieces: string[] = [];
  let pieceStart = 0;
  let fence: FenceState = 'none';
  for (const { start, rawStart, end } of spans) {
    const before = trimBeforeCall(text.slice(pieceStart, start), fence);
    pieces.push(before.piece);
    fence = text.slice(start, rawStart).includes('```') ? 'around calls' : before.fence;
    pieceStart = tags.skipClosers(text, end);
    const fenceEnd: number | undefined = fence === 'around calls' ? skipClosingFence(text, pieceStart) : undefined;
    if (fenceEnd !== undefined) [fence, pieceStart] = ['none', tags.skipClosers(text, fenceEnd)];
    pieceStart = skipLink(text, pieceStart, tags);
  }
  pieces.push(withoutEndTokens(text.slice(pieceStart)));
  const lines = pieces.map((piece) => piece.trim()).filter((piece) => skipSeparators(piece, 0) < piece.length);
  if (!lines.some((line) => /^[{`]/.test(line))) return lines.join('\n');
  const callArguments = new Set(spans.flatMap(({ calls }) => calls.map((call) => canonicalJson(call.arguments))));
  return lines.filter((line) => !isEcho(line, callArguments)).join('\n');
}

/**
 * The Markdown code fence that is open at the end of a piece:
 *
 * | state          | meaning                                     | its backticks          |
 * | -------------- | ------------------------------------------- | ---------------------- |
 * | `none`         | no fence is open                            |                        |
 * | `around calls` | the fence opened directly before a call     | are removed            |
 * | `in the text`  | the fence holds text, perhaps calls as well | stay in the text       |
 */
type FenceState = 'none' | 'around calls' | 'in the text';

// Before a call, the bracket of a list that is never closed belongs to the call, and so does the fence before it.
function trimBeforeCall(
  textBefore: string,
  fenceBefore: FenceState,
): { readonly piece: string; readonly fence: FenceState } {
  if (textBefore.trim() === '') return { piece: '', fence: fenceBefore };
  const fenceCount = [...textBefore.matchAll(/`{3,}/g)].length;
  if (fenceCount === 0 && fenceBefore !== 'none') return { piece: textBefore, fence: fenceBefore };
  const isOpen = (fenceBefore === 'none') === (fenceCount % 2 === 1);
  const trimmed = textBefore.trimEnd();
  const piece = trimmed.endsWith('[') ? trimmed.slice(0, -1) : trimmed;
  const fenceStart = isOpen ? openingFenceBefore(piece, piece.length) : undefined;
  if (fenceStart !== undefined) return { piece: piece.slice(0, fenceStart), fence: 'around calls' };
  return { piece, fence: isOpen ? 'in the text' : 'none' };
}

// Separators before another object or before closers belong to the calls; separators before prose are text.
function skipLink(text: string, index: number, tags: TagSet): number {
  const afterSeparators = skipSeparators(text, index);
  if (text[afterSeparators] === '{') return afterSeparators;
  const afterClosers = tags.skipClosers(text, afterSeparators);
  return afterClosers === afterSeparators ? index : afterClosers;
}

/** Whether a piece is nothing but the arguments of a call, perhaps in a code fence. */
function isEcho(piece: string, callArguments: ReadonlySet<string>): boolean {
  const start = piece.startsWith('```') ? skipOpeningFence(piece, 0) : 0;
  if (piece[start] !== '{') return false;
  const parsed = parseJsonAt(piece, start);
  if (!parsed.ok || !callArguments.has(canonicalJson(parsed.value))) return false;
  return parsed.end === piece.length || (start > 0 && skipClosingFence(piece, parsed.end) === piece.length);
}
