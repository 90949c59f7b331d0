import type { CallGrammar, Trigger } from '../../grammar/grammar.ts';
import { GrammarMatcher } from '../../grammar/matcher.ts';
import type { Rule } from '../../grammar/rule.ts';
import { findTrigger } from '../../reply/triggers.ts';
import type { ReplyMarks } from '../../replyMarks.ts';
import { lexemes } from '../../dialect/marks.ts';

/** A range of a text that matches a grammar; `end` is exclusive. */
export interface AcceptedText {
  readonly start: number;
  readonly end: number;
  readonly rule: Rule;
}

/** The parts of a text that a lazy grammar constrains and accepts to their end; undefined: it does not accept one. */
export function acceptedCalls(
  text: string,
  grammar: CallGrammar,
  marks: ReplyMarks,
): readonly AcceptedText[] | undefined {
  if (grammar.kind === 'full') return undefined;
  const accepted: AcceptedText[] = [];
  let from = 0;
  for (;;) {
    const match = findTrigger(text, grammar.triggers, { start: from, searchedTo: from }, marks);
    if (!match) return accepted;
    const start = match.end - match.trigger.text.length;
    const end = longestMatch(text, start, match.trigger);
    if (end === undefined) return undefined;
    accepted.push({ start, end, rule: match.trigger.rule });
    from = end;
  }
}

/** The index after the longest text from an index on that matches the rule of a trigger to its end. */
function longestMatch(text: string, start: number, { rule }: Pick<Trigger, 'rule'>): number | undefined {
  const rest = text.slice(start);
  const whole = GrammarMatcher.start(rule).accept(rest);
  if (whole.matcher.canEnd) return start + whole.length;
  // The grammar went on with what follows its end: the end is somewhere before.
  return lastEnd(lexemes(rest), start, rule);
}

/** The last index at which a text that is given piece by piece could end. */
function lastEnd(pieces: readonly string[], start: number, rule: Rule): number | undefined {
  let end: number | undefined;
  for (const { index, canEnd } of endings(pieces, start, rule)) if (canEnd) end = index;
  return end;
}

/** Whether a text could end after each of its pieces, up to the first piece that does not match. */
function* endings(pieces: readonly string[], start: number, rule: Rule): Generator<{ index: number; canEnd: boolean }> {
  let matcher = GrammarMatcher.start(rule);
  let index = start;
  for (const piece of pieces) {
    const accepted = matcher.accept(piece);
    if (accepted.length < piece.length) return;
    matcher = accepted.matcher;
    index += piece.length;
    yield { index, canEnd: matcher.canEnd };
  }
}

/** Whether a text that is cut off inside its first call could be complete for the rule; it is cut after each lexeme. */
export function acceptsCutCall(text: string, { start, end, rule }: AcceptedText, callEnd: number): boolean {
  const last = Math.min(end, callEnd);
  for (const { index, canEnd } of endings(lexemes(text.slice(start, last)), start, rule)) {
    if (canEnd && index < last) return true;
  }
  return false;
}

/** Whether a full grammar accepts a text from its start on, perhaps with other text after it. */
export const acceptsFromStart = (text: string, grammar: CallGrammar): boolean =>
  grammar.kind === 'full' && longestMatch(text, 0, grammar) !== undefined;
