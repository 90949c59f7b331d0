import type { Token } from 'node-llama-cpp';
import type { Rule, TextRule } from '../../chat/grammar/rule.ts';
import type { GrammarMatcher } from '../../chat/grammar/matcher.ts';
import type { Tokenizer } from './tokenizer.ts';
import { commonPrefixLength } from '../../base/commonPrefix.ts';

/** Forced text as tokens. */
export interface ForcedTokens {
  readonly tokens: readonly Token[];
  /** The position in the grammar after these tokens. */
  readonly matcher: GrammarMatcher;
}

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
 */
export class ForcedTextTokenizer {
  readonly #tokenizer: Tokenizer;

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
  }

  /**
   * The tokens for `ownText` and the text that the grammar forces after it.
   * @param ownText text that was chosen and is not in tokens yet; may be empty.
   * @param matcher the position in the grammar after `ownText`.
   */
  tokenize(ownText: string, matcher: GrammarMatcher): ForcedTokens {
    const { texts: forcedTexts, matcher: matcherAfterForced } = matcher.forcedText();
    const headCount = forcedTexts.findLastIndex((rule) => this.#controlToken(rule) !== undefined) + 1;
    const headTexts = forcedTexts.slice(0, headCount);
    const hasHead = headCount > 0;
    const headTokens = hasHead ? [ownText, ...headTexts].flatMap((text) => this.#tokenizeRule(text)) : [];
    const ownTailText = hasHead ? '' : ownText;
    const tailText = ownTailText + joinTexts(forcedTexts.slice(headCount));
    const tailTokens = this.#tokenizer.tokenizeContinuation(tailText);
    const keptCount = matcherAfterForced.mustEnd
      ? tailTokens.length
      : this.#stablePrefixLength(tailText, tailTokens, matcherAfterForced);
    const keptTokens = tailTokens.slice(0, keptCount);
    const keptText = keptCount < tailTokens.length ? this.#tokenizer.detokenize(keptTokens, [], false) : tailText;
    const canDrop =
      headTokens.length + keptCount > 0 && keptText.length >= ownTailText.length && tailText.startsWith(keptText);
    if (keptCount === tailTokens.length || !canDrop) {
      return { tokens: [...headTokens, ...tailTokens], matcher: matcherAfterForced };
    }
    const keptForcedText = joinTexts(headTexts) + keptText.slice(ownTailText.length);
    return { tokens: [...headTokens, ...keptTokens], matcher: matcher.accept(keptForcedText).matcher };
  }

  /** How many leading tokens of a text stay the same with each likely continuation. */
  #stablePrefixLength(text: string, tokens: readonly Token[], matcher: GrammarMatcher): number {
    return Math.min(
      ...likelyContinuations(matcher).map((continuation) =>
        commonPrefixLength(tokens, this.#tokenizer.tokenizeContinuation(text + continuation)),
      ),
    );
  }

  #tokenizeRule(rule: TextRule | string): readonly Token[] {
    if (typeof rule === 'string') return this.#tokenizer.tokenizeContinuation(rule);
    const controlToken = this.#controlToken(rule);
    return controlToken === undefined ? this.#tokenizer.tokenizeContinuation(rule.text) : [controlToken];
  }

  /** The control token of a rule, if the vocabulary has it. */
  #controlToken({ text, control }: TextRule): Token | undefined {
    const [token, ...more] = control ? this.#tokenizer.tokenizeWithControl(text) : [];
    return token !== undefined && more.length === 0 && this.#tokenizer.isControl(token) ? token : undefined;
  }
}

/** The texts of literals, joined. */
export const joinTexts = (rules: readonly TextRule[]): string => rules.map(({ text }) => text).join('');

const maxContinuations = 12;
/** UTF-16 units. */
const maxContinuationLength = 24;

/** Samples of what may follow: enough of them to see which token boundaries move. */
export function likelyContinuations(matcher: GrammarMatcher): readonly string[] {
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
const firstCharacter = (rule: Rule): string =>
  rule.kind === 'char' ? String.fromCodePoint(rule.ranges[0]?.[0] ?? 0) : '';
