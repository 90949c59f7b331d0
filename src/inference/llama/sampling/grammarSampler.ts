import type { LlamaGrammarEvaluationState, Token } from 'node-llama-cpp';
import type { CallGrammar } from '../../../chat/grammar/rule.ts';
import { findTrigger } from '../../../chat/reply/triggers.ts';
import { MarkEscaper } from './markEscaper.ts';
import type { ReplyMarks } from '../../../chat/replyMarks.ts';
import { GrammarMatcher } from '../../../chat/grammar/matcher.ts';
import type { FinishReason } from '../../contract/engine.ts';
import type { GrammarCache } from './grammarCache.ts';
import type { Sampler } from './sampler.ts';
import { endsMidCharacter, type StreamingDetokenizer } from '../../decoding/streamingDetokenizer.ts';
import type { Tokenizer } from '../../decoding/tokenizer.ts';
import { ForcedTextTokenizer } from '../../decoding/forcedTokens.ts';

export interface GrammarSamplerOptions {
  readonly grammar: CallGrammar;
  readonly tokenizer: Tokenizer;
  readonly grammarCache: GrammarCache;
  readonly stream: StreamingDetokenizer;
  readonly replyMarks: ReplyMarks;
  /** Text that the chat template has begun for the model (a mark that opens reasoning); the generated text continues it. */
  readonly prefix: string;
  /** Maximum of unconstrained tokens; also of constrained ones where the grammar has no budget. */
  readonly maxTokens: number;
  /** Maximum of all generated tokens: what is left of the context. */
  readonly maxContextTokens: number;
}

/**
 * Forced text to the end of the grammar that has at most so many tokens is appended in full, even beyond the maximum of
 * tokens: the brackets and the tag at the end of a call.
 */
const maxClosingTokens = 32;

/** The text of a sampled token, tokens of an incomplete character before it included. */
interface SampledText {
  /** The part before the constrained text; it ends with the trigger. Empty but for the token that completes a trigger. */
  readonly before: string;
  /** The part inside the constrained text. */
  readonly inside: string;
}

/**
 * Grammar-constrained sampler (constrained decoding): samples only where the grammar allows a choice; forced text is
 * appended without sampling (jump-forward decoding, with token healing in ForcedTextTokenizer). A lazy grammar (as
 * llama.cpp calls it) constrains the text only from a trigger to the end of the trigger's rule, again and again.
 *
 * | state         | `#matcher` | a sampled token is                   | next state                                         |
 * | ------------- | ---------- | ------------------------------------ | -------------------------------------------------- |
 * | unconstrained | undefined  | appended                             | constrained, once it completes a trigger           |
 * | constrained   | set        | appended or repaired, forced text    | lazy grammar at its end: unconstrained;            |
 * |               |            | follows (see `#acceptConstrained`)   | full grammar at its end: done                      |
 * | done          | undefined  | -                                    | - (`finishReason` is 'end')                        |
 *
 * A lazy grammar starts unconstrained, a full one constrained. In each state a maximum of tokens ends the text
 * ('length'), and in the unconstrained one also a stop string ('stop').
 */
export class GrammarSampler implements Sampler {
  readonly #options: GrammarSamplerOptions;
  readonly #forcedText: ForcedTextTokenizer;
  readonly #markEscaper: MarkEscaper;
  /** The position in the grammar, after all whole characters; undefined while the text is unconstrained. */
  #matcher: GrammarMatcher | undefined;
  #done = false;
  #grammarState: LlamaGrammarEvaluationState | undefined;
  /** Whether text was appended that llama.cpp's grammar state has not accepted: it is then made anew from `#matcher`. */
  #grammarStale = true;
  /** Offset in `#fullText` at which unconstrained text last started. */
  #freeFrom = 0;
  /** Unconstrained tokens, all together. */
  #freeTokens = 0;
  /** Tokens since the last trigger. */
  #constrainedTokens = 0;

  constructor(options: GrammarSamplerOptions) {
    const { grammar, tokenizer, replyMarks } = options;
    this.#options = options;
    this.#forcedText = new ForcedTextTokenizer(tokenizer);
    this.#markEscaper = new MarkEscaper(replyMarks);
    this.#matcher = grammar.kind === 'full' ? GrammarMatcher.start(grammar.rule) : undefined;
  }

  get grammar(): LlamaGrammarEvaluationState | undefined {
    return this.#grammarState;
  }

  get finishReason(): FinishReason | undefined {
    const { stream, maxTokens } = this.#options;
    if (this.#done) return 'end';
    if (stream.stopped) return 'stop';
    const isSpent = this.#matcher
      ? this.#constrainedTokens >= this.#maxConstrainedTokens
      : this.#freeTokens >= maxTokens;
    return isSpent || this.#contextTokensLeft <= 0 ? 'length' : undefined;
  }

  get #fullText(): string {
    const { prefix, stream } = this.#options;
    return prefix + stream.decoded;
  }

  get #contextTokensLeft(): number {
    return this.#options.maxContextTokens - this.#options.stream.tokens.length;
  }

  get #maxConstrainedTokens(): number {
    const { grammar, maxTokens } = this.#options;
    return grammar.budget ?? maxTokens;
  }

  begin(): readonly Token[] {
    return this.#matcher ? this.#force('', this.#matcher) : [];
  }

  async prepare(): Promise<void> {
    if (!this.#matcher) this.#grammarState = undefined;
    else if (this.#grammarStale) this.#grammarState = await this.#options.grammarCache.stateFor(this.#matcher);
    this.#grammarStale = false;
  }

  accept(token: Token): readonly Token[] {
    if (this.#matcher) return this.#acceptConstrained(token, this.#matcher, this.#constrainedText(token));
    const { grammar, stream, replyMarks } = this.#options;
    const textBefore = this.#fullText;
    const text = textBefore + stream.peek(token);
    const range = { start: this.#freeFrom, searchedTo: textBefore.length };
    const match = grammar.kind === 'lazy' ? findTrigger(text, grammar.triggers, range, replyMarks) : undefined;
    if (!match) {
      stream.push(token);
      this.#freeTokens++;
      return [token];
    }
    const { trigger, end } = match;
    this.#constrainedTokens = 0;
    return this.#acceptConstrained(token, GrammarMatcher.start(trigger.rule).accept(trigger.text).matcher, {
      before: text.slice(textBefore.length, end),
      inside: text.slice(end),
    });
  }

  // Nothing is unsent: which token is sampled next depends on the text, so `accept` has emitted it.
  flushText(): void {}

  // If a control token is sampled where the grammar wants plain text, its spelling is used as text.
  #constrainedText(token: Token): SampledText {
    const { stream, tokenizer } = this.#options;
    const isControl = tokenizer.isControl(token);
    return {
      before: '',
      inside: isControl ? stream.pending + tokenizer.detokenize([token], [], true) : stream.peek(token),
    };
  }

  /**
   * Accepts a token inside the constrained text. The first case that applies:
   *
   * | text of the token                                        | appended                                             |
   * | -------------------------------------------------------- | ---------------------------------------------------- |
   * | contains a mark of a reply, in a JSON string             | the escaped text in new tokens, forced text          |
   * | does not fit to its end, or is of a control token        | what fits in new tokens, forced text (`#repair`)     |
   * | fits, forced text follows                                | both in new tokens (token healing, `#force`)         |
   * | fits, but ends in an incomplete character                | the token; the matcher stays where it was            |
   * | fits                                                     | the token; forced text after a completed character   |
   *
   * A control token is kept where it completes a trigger, and where the grammar has it as a control token (`tag`).
   */
  #acceptConstrained(token: Token, matcher: GrammarMatcher, { before, inside }: SampledText): readonly Token[] {
    const { stream, tokenizer } = this.#options;
    const isControl = tokenizer.isControl(token);
    const isTag = isControl && before === '' && matcher.allowsTag(inside);
    const isWhole = !endsMidCharacter(inside) && stream.pending === '';
    // A mark of reasoning inside a JSON string would hide the call from detection, which skips reasoning.
    const accepts = (text: string): boolean => isWhole && matcher.accept(text).length === text.length;
    const escaped = this.#markEscaper.escape(stream.decoded + before, inside, accepts);
    if (escaped !== undefined) return this.#repair(matcher, before + escaped, before);
    const { matcher: nextMatcher, length: fittingLength } = matcher.accept(inside);
    const isKept = fittingLength === inside.length && (before === '' ? !isControl || isTag : isWhole);
    if (!isKept) return this.#repair(matcher, before + inside.slice(0, fittingLength), before);
    if (isWhole && !isControl && nextMatcher.forcedText().texts.length > 0)
      return this.#force(before + inside, nextMatcher);
    this.#push(token);
    if (stream.pending !== '') return [token];
    this.#matcher = nextMatcher;
    // llama.cpp's grammar has not seen a trigger, and decodes invalid bytes to other characters.
    this.#grammarStale ||= before !== '' || inside.includes('\uFFFD');
    return nextMatcher.mustEnd || nextMatcher.forcedText().texts.length > 0
      ? [token, ...this.#force('', nextMatcher)]
      : [token];
  }

  /**
   * Appends text in place of a token that cannot be kept, and the forced text after it. Always appends at least one
   * character, so that generation makes progress.
   * @param fittingText `before` and what may follow it; it may begin with the pending text, which is in tokens already.
   */
  #repair(matcher: GrammarMatcher, fittingText: string, before: string): readonly Token[] {
    const { pending } = this.#options.stream;
    const newText = fittingText.startsWith(pending) ? fittingText.slice(pending.length) : '';
    const { matcher: nextMatcher } = matcher.accept((pending + newText).slice(before.length));
    if (newText !== '' || nextMatcher.forcedText().texts.length > 0) return this.#force(newText, nextMatcher);
    const character = nextMatcher.anyNextCharacter() ?? '';
    return this.#force(character, nextMatcher.accept(character).matcher);
  }

  /**
   * Appends `ownText` and the text that the grammar forces after it, without sampling (jump-forward decoding).
   * @param matcher the position after `ownText`.
   */
  #force(ownText: string, matcher: GrammarMatcher): readonly Token[] {
    const { tokens, matcher: nextMatcher } = this.#forcedText.tokenize(ownText, matcher);
    const isClosing = nextMatcher.mustEnd && tokens.length <= Math.min(maxClosingTokens, this.#contextTokensLeft);
    const appended: Token[] = [];
    this.#matcher = nextMatcher;
    this.#grammarStale = true;
    for (const token of tokens) {
      if (!isClosing && this.finishReason) return appended;
      this.#push(token);
      appended.push(token);
    }
    if (nextMatcher.mustEnd) this.#leaveGrammar();
    return appended;
  }

  #push(token: Token): void {
    this.#options.stream.push(token, true);
    this.#constrainedTokens++;
  }

  #leaveGrammar(): void {
    const { grammar } = this.#options;
    this.#matcher = undefined;
    this.#done = grammar.kind === 'full';
    this.#freeFrom = this.#fullText.length;
  }
}
