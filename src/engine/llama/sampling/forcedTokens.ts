import type { Token } from 'node-llama-cpp';
import type { Rule, TextRule } from '../../../tools/grammar/rule.ts';
import type { GrammarMatcher } from '../../../tools/grammar/matcher.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { commonPrefixLength } from '../../commonPrefix.ts';

/** Text that is decided, in tokens. */
export interface ForcedTokens {
  readonly tokens: readonly Token[];
  /** The place behind them. */
  readonly matcher: GrammarMatcher;
}

/** Puts decided text into the tokens that the model would have drawn for it. */
export class ForcedTextTokenizer {
  readonly #tokenizer: Tokenizer;

  constructor(tokenizer: Tokenizer) {
    this.#tokenizer = tokenizer;
  }

  /**
   * The tokens for a text that leads to a place, and for what has to come there. Where the last of these could as well
   * be the beginning of a longer token, they are left for the model to draw, together with what it chooses behind them.
   */
  tokenize(own: string, matcher: GrammarMatcher): ForcedTokens {
    const { texts, walk: end } = matcher.forcedText();
    const rest = texts.findLastIndex((one) => this.#control(one) !== undefined) + 1;
    const head = rest === 0 ? [] : [own, ...texts.slice(0, rest)].flatMap((one) => this.#tokens(one));
    const start = rest === 0 ? own : '';
    const words = start + joinTexts(texts.slice(rest));
    const tokens = this.#tokenizer.tokenizeContinuation(words);
    const kept = end.mustEnd ? tokens.length : this.#stablePrefix(words, tokens, end);
    const shorter = kept < tokens.length ? this.#tokenizer.detokenize(tokens.slice(0, kept), [], false) : words;
    const isUseful = head.length + kept > 0 && shorter.length >= start.length && words.startsWith(shorter);
    if (kept === tokens.length || !isUseful) return { tokens: [...head, ...tokens], matcher: end };
    const gone = joinTexts(texts.slice(0, rest)) + shorter.slice(start.length);
    return { tokens: [...head, ...tokens.slice(0, kept)], matcher: matcher.accept(gone).walk };
  }

  /** How many tokens of a text stay the same whatever comes behind it. */
  #stablePrefix(words: string, tokens: readonly Token[], end: GrammarMatcher): number {
    return Math.min(
      ...likelyContinuations(end).map((probe) =>
        commonPrefixLength(tokens, this.#tokenizer.tokenizeContinuation(words + probe)),
      ),
    );
  }

  #tokens(one: TextRule | string): readonly Token[] {
    if (typeof one === 'string') return this.#tokenizer.tokenizeContinuation(one);
    const control = this.#control(one);
    return control === undefined ? this.#tokenizer.tokenizeContinuation(one.text) : [control];
  }

  #control({ text, control }: TextRule): Token | undefined {
    const [token, ...more] = control ? this.#tokenizer.tokenizeWithControl(text) : [];
    return token !== undefined && more.length === 0 && this.#tokenizer.isControl(token) ? token : undefined;
  }
}

const joinTexts = (texts: readonly TextRule[]): string => texts.map(({ text }) => text).join('');

const maxContinuations = 12;
const maxContinuationLength = 24;

/** Texts as they may come next: enough of them to see where tokens would end. */
function likelyContinuations(matcher: GrammarMatcher): readonly string[] {
  const next = matcher.continuations.flatMap(([first]) => first ?? []);
  // Within a string it is letters that come; what ends it is left aside.
  if (next.some(isPlainText)) return ['a'];
  return next
    .slice(0, maxContinuations)
    .map((rule) => (rule.kind === 'text' ? rule.text.slice(0, maxContinuationLength) : firstOf(rule)));
}

const minRangeOfPlainText = 1000;
const isPlainText = (rule: Rule): boolean =>
  rule.kind === 'char' && rule.ranges.some(([from, to]) => to - from > minRangeOfPlainText);
const firstOf = (rule: Rule): string => (rule.kind === 'char' ? String.fromCodePoint(rule.ranges[0]?.[0] ?? 0) : '');
