import type { CallGrammar, Trigger } from '../../grammar/grammar.ts';
import { GrammarMatcher } from '../../grammar/matcher.ts';
import type { Rule } from '../../grammar/rule.ts';
import { findTrigger } from '../../grammar/triggers.ts';

/** A range of a text that matches a grammar; `end` is exclusive. */
export interface AcceptedText {
  readonly start: number;
  readonly end: number;
  readonly rule: Rule;
}

/** The parts of a text that a lazy grammar constrains and accepts to their end; undefined: it does not accept one. */
export function acceptedCalls(text: string, grammar: CallGrammar): readonly AcceptedText[] | undefined {
  if (grammar.kind === 'full') return undefined;
  const accepted: AcceptedText[] = [];
  let from = 0;
  for (;;) {
    const match = findTrigger(text, grammar.triggers, { start: from, searchedTo: from });
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
  let matcher = GrammarMatcher.start(rule);
  let end: number | undefined;
  let index = start;
  for (const character of text.slice(start)) {
    const { matcher: next, length } = matcher.accept(character);
    if (length < character.length) break;
    matcher = next;
    index += length;
    if (matcher.canEnd) end = index;
  }
  return end;
}

/** Whether a text that is cut off anywhere inside its first call could still be complete for the rule. */
export function acceptsCutCall(text: string, { start, end, rule }: AcceptedText, callEnd: number): boolean {
  let matcher = GrammarMatcher.start(rule);
  let index = start;
  for (const character of text.slice(start, Math.min(end, callEnd))) {
    matcher = matcher.accept(character).matcher;
    index += character.length;
    if (index < Math.min(end, callEnd) && matcher.canEnd) return true;
  }
  return false;
}

/** Whether a full grammar accepts a text from its start on, perhaps with other text after it. */
export const acceptsFromStart = (text: string, grammar: CallGrammar): boolean =>
  grammar.kind === 'full' && longestMatch(text, 0, grammar) !== undefined;
