import { matchBrackets, type BracketSpan } from './brackets.ts';
import { createCallSpan, type CallSpans, type CallSpan } from './callSpan.ts';
import type { SkipReasoning } from '../reasoning/reasoningSpans.ts';
import { skipSeparators, parseObjects, type ParsedObject } from './objectList.ts';
import { parseJsonAt } from '../json/lenientParser.ts';
import { extractCalls, type CallKeys, type ParsedCall } from './callShape.ts';

/** What stands in a text without a tag. */
export interface UntaggedCallSpans extends CallSpans {
  /** Whether all from `cutAt` to the end of the text reads as one value: what looks like a tag there is in a string. */
  readonly truncatedInValue: boolean;
}

/** Finds the calls that stand in a text without a tag. */
export function untaggedCalls(text: string, keys: CallKeys, skipReasoning: SkipReasoning): UntaggedCallSpans {
  const lead = leadingCalls(text, firstVisible(text, skipReasoning), keys);
  if (lead.truncatedAt !== undefined) return { ...lead, truncatedInValue: true };
  const { pieces, truncatedAt } = matchBrackets(text, lead.end, skipReasoning);
  const rest = truncatedAt === undefined ? undefined : parseJsonAt(text, truncatedAt);
  return {
    spans: [...lead.spans, ...pieces.flatMap((piece) => callsBetween(text, piece, keys))],
    truncatedAt,
    truncatedInValue: rest !== undefined && !rest.ok && rest.truncated,
  };
}

// Only here a lenient reading is safe: nothing but a call or an answer in JSON starts a text with a bracket.
function leadingCalls(text: string, start: number, keys: CallKeys): CallSpans & { readonly end: number } {
  if (text[start] !== '{' && text[start] !== '[') return { spans: [], truncatedAt: undefined, end: start };
  const { objects, list, end, error } = parseObjects(text, start, true);
  const said = objects.map(({ value }) => extractCalls(value, keys, { tagged: false, lenient: true }));
  const truncated = error === undefined ? skipSeparators(text, end) === text.length : error.truncatedIn !== undefined;
  const isData = list !== 'none' && (said.some((calls) => calls.length === 0) || (list === 'open' && !truncated));
  if (isData) return { spans: [], truncatedAt: undefined, end: list === 'closed' ? end : start };
  const spans = toCallSpans(text, objects, said);
  return { spans, truncatedAt: error?.truncatedIn && error.start, end: error?.start ?? end };
}

function callsBetween(text: string, { start, end }: BracketSpan, keys: CallKeys): readonly CallSpan[] {
  const shape = { tagged: false, lenient: false };
  if (text[start] === '{') {
    const read = parseJsonAt(text, start);
    const said = read.ok ? extractCalls(read.value, keys, shape) : [];
    return said.length === 0 ? [] : [createCallSpan(text, { start, end, repaired: false }, said)];
  }
  const { objects, list } = parseObjects(text, start, false);
  const said = objects.map(({ value }) => extractCalls(value, keys, shape));
  const isData = list !== 'closed' || said.some((calls) => calls.length === 0);
  return isData ? [] : toCallSpans(text, objects, said);
}

const toCallSpans = (
  text: string,
  objects: readonly ParsedObject[],
  said: readonly (readonly ParsedCall[])[],
): readonly CallSpan[] =>
  objects.flatMap((object, index) => {
    const calls = said[index] ?? [];
    return calls.length === 0 ? [] : [createCallSpan(text, object, calls)];
  });

function firstVisible(text: string, skipReasoning: SkipReasoning): number {
  let at = -1;
  for (let next = 0; next !== at; next = skipReasoning(next + leadingWhitespaceEnd(text, next))) at = next;
  return at;
}

const whitespace = /\s*/y;

function leadingWhitespaceEnd(text: string, at: number): number {
  whitespace.lastIndex = at;
  whitespace.test(text);
  return whitespace.lastIndex - at;
}
