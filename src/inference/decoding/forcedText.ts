import type { Token } from 'node-llama-cpp';
import { commonPrefixLength } from '../../base/commonPrefix.ts';
import { firstCharacter, type GrammarMatcher } from '../../chat/grammar/matcher.ts';
import type { Rule, TextRule } from '../../chat/grammar/rule.ts';
import type { PromptTokenizer } from './templateRenderer.ts';

/**
 * Tokenizes forced text (text that a grammar allows no alternative to) the way the model itself would have, for
 * jump-forward decoding with token healing. A model often generates a token that reaches beyond forced text: after
 * `"on":` it knows ` true` as one token. So trailing tokens that could be part of a longer one are dropped, and the model
 * samples the token boundary itself, together with its choice.
 *
 * | tokens of                                                      | kept?                                            |
 * | -------------------------------------------------------------- | ------------------------------------------------ |
 * | the text up to the last forced control token                   | yes: nothing merges with a control token         |
 * | forced text, and the grammar must end after it                 | yes: nothing follows                             |
 * | forced text, the same tokens whatever is likely to follow      | yes                                              |
 * | forced text, other tokens after some likely continuation       | no: left to the model (token healing)            |
 * | as above, but dropping them would cut `ownText` or leave none  | yes                                              |
 *
 * @param ownText text that was chosen and is not in tokens yet; may be empty.
 * @param matcher the position in the grammar after `ownText`.
 * @returns `ownText` with the forced text after it, and the position in the grammar after both.
 */
export async function forceText(
  ownText: string,
  matcher: GrammarMatcher,
  prompts: PromptTokenizer,
): Promise<{ readonly text: string; readonly tokens: readonly Token[]; readonly matcher: GrammarMatcher }> {
  const { texts, matcher: after } = matcher.forcedText();
  const controlOf = ({ text, control }: TextRule): Token | undefined =>
    control ? prompts.vocabulary.controlToken(text) : undefined;
  const headCount = texts.findLastIndex((rule) => controlOf(rule) !== undefined) + 1;
  const head = texts.slice(0, headCount);
  const headTokens: Token[] = headCount > 0 ? [...(await prompts.continuation(ownText, false))] : [];
  for (const rule of head) {
    const token = controlOf(rule);
    headTokens.push(...(token === undefined ? await prompts.continuation(rule.text, false) : [token]));
  }
  const ownTail = headCount > 0 ? '' : ownText;
  const tail = ownTail + joinTexts(texts.slice(headCount));
  const tailTokens = await prompts.continuation(tail, false);
  const whole = { text: ownText + joinTexts(texts), tokens: [...headTokens, ...tailTokens], matcher: after };
  if (after.mustEnd) return whole;
  const others = await Promise.all(
    likelyContinuations(after).map((continuation) => prompts.continuation(tail + continuation, false)),
  );
  const keptCount = Math.min(tailTokens.length, ...others.map((other) => commonPrefixLength(tailTokens, other)));
  if (keptCount === tailTokens.length) return whole;
  const keptTokens = tailTokens.slice(0, keptCount);
  const keptText = await prompts.spell(keptTokens);
  const canDrop = headTokens.length + keptCount > 0 && keptText.length >= ownTail.length && tail.startsWith(keptText);
  if (!canDrop) return whole;
  const forced = joinTexts(head) + keptText.slice(ownTail.length);
  return { text: ownText + forced, tokens: [...headTokens, ...keptTokens], matcher: matcher.accept(forced).matcher };
}

const joinTexts = (rules: readonly TextRule[]): string => rules.map(({ text }) => text).join('');

const maxContinuations = 12;
/** UTF-16 units. */
const maxContinuationLength = 24;

/** Samples of what may follow: enough of them to see which token boundaries move. */
function likelyContinuations(matcher: GrammarMatcher): readonly string[] {
  const nextRules = matcher.stacks.map(({ rule }) => rule);
  // Inside a JSON string, one letter is enough. The quote that would end the string is not tried.
  if (nextRules.some(isPlainText)) return ['a'];
  return nextRules
    .slice(0, maxContinuations)
    .map((rule) => (rule.kind === 'text' ? rule.text.slice(0, maxContinuationLength) : firstCharacter(rule)));
}

const minPlainTextCodePoints = 1000;
const isPlainText = (rule: Rule): boolean =>
  rule.kind === 'char' && rule.ranges.some(([from, to]) => to - from > minPlainTextCodePoints);
