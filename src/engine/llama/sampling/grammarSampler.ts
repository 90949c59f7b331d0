import type { LlamaGrammarEvaluationState, Token } from 'node-llama-cpp';
import type { CallGrammar } from '../../../tools/grammar/grammar.ts';
import { findTrigger } from '../../../tools/grammar/triggers.ts';
import { escapeReasoningTags } from '../../../tools/reasoning/reasoningSpans.ts';
import { GrammarMatcher } from '../../../tools/grammar/matcher.ts';
import type { FinishReason } from '../../engine.ts';
import type { GrammarCache } from './grammarCache.ts';
import type { Sampler } from './sampler.ts';
import { endsMidCharacter, type StreamingDetokenizer } from '../tokenizer/streamingDetokenizer.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { ForcedTextTokenizer } from './forcedTokens.ts';

export interface GrammarSamplerOptions {
  readonly grammar: CallGrammar;
  readonly tokenizer: Tokenizer;
  readonly grammarCache: GrammarCache;
  readonly stream: StreamingDetokenizer;
  /** What the template has begun on the model's behalf: the text goes on from there. */
  readonly prefix: string;
  /** Tokens that free text may have. */
  readonly maxTokens: number;
  /** Tokens that fit into the context. */
  readonly maxContextTokens: number;
}

/** A pen that holds to a grammar: it draws only where there is a choice, and writes the rest at once. */
export class GrammarSampler implements Sampler {
  readonly #options: GrammarSamplerOptions;
  readonly #forcedText: ForcedTextTokenizer;
  /** The place in the piece of the text that is bound; undefined while the text is free. */
  #matcher: GrammarMatcher | undefined;
  #done = false;
  #grammarState: LlamaGrammarEvaluationState | undefined;
  #grammarStale = true;
  /** Where the text began to be free. */
  #freeFrom = 0;
  #freeTokens = 0;
  #constrainedTokens = 0;

  constructor(parts: GrammarSamplerOptions) {
    const { grammar, tokenizer } = parts;
    this.#options = parts;
    this.#forcedText = new ForcedTextTokenizer(tokenizer);
    this.#matcher = grammar.kind === 'full' ? GrammarMatcher.start(grammar.rule) : undefined;
  }

  get grammar(): LlamaGrammarEvaluationState | undefined {
    return this.#grammarState;
  }

  get finishReason(): FinishReason | undefined {
    const { stream, maxContextTokens: room, maxTokens } = this.#options;
    if (this.#done) return 'end';
    if (stream.stopped) return 'stop';
    const spent = this.#matcher ? this.#constrainedTokens >= this.#budget : this.#freeTokens >= maxTokens;
    return spent || stream.tokens.length >= room ? 'length' : undefined;
  }

  get #fullText(): string {
    const { prefix, stream } = this.#options;
    return prefix + stream.decoded;
  }

  get #budget(): number {
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
    if (this.#matcher) return this.#acceptConstrained(token, this.#matcher, this.#plainText(token));
    const { grammar, stream } = this.#options;
    const before = this.#fullText;
    const words = before + stream.peek(token);
    const from = { start: this.#freeFrom, heard: before.length };
    const prefix = grammar.kind === 'lazy' ? findTrigger(words, grammar.triggers, from) : undefined;
    if (!prefix) {
      stream.push(token);
      this.#freeTokens++;
      return [token];
    }
    const { trigger: opening, end } = prefix;
    this.#constrainedTokens = 0;
    return this.#acceptConstrained(token, GrammarMatcher.start(opening.rule).accept(opening.text).walk, {
      before: words.slice(before.length, end),
      inside: words.slice(end),
    });
  }

  // What is drawn next depends on the text, so it has been told.
  flushText(): void {}

  // A control token that is drawn where letters are wanted stands for the letters of its name.
  #plainText(token: Token): SampledText {
    const { stream, tokenizer } = this.#options;
    const isControl = tokenizer.isControl(token);
    return {
      before: '',
      inside: isControl ? stream.pending + tokenizer.detokenize([token], [], true) : stream.peek(token),
    };
  }

  /** Takes a token of a bound piece: as it was drawn, or as much of it as fits, and writes what has to follow. */
  #acceptConstrained(
    token: Token,
    matcher: GrammarMatcher,
    { before: head, inside: tail }: SampledText,
  ): readonly Token[] {
    const { stream, tokenizer } = this.#options;
    const { pending } = stream;
    const isControl = tokenizer.isControl(token);
    const isWhole = !endsMidCharacter(tail) && pending === '';
    const harmless = escapeReasoningTags(stream.decoded + head, tail);
    // A mark in a string would hide the call from whoever reads it.
    if (harmless !== tail && isWhole && matcher.accept(harmless).length === harmless.length)
      return this.#repair(matcher, head + harmless, head);
    const { walk: at, length } = matcher.accept(tail);
    const stands = length === tail.length && (head === '' ? !isControl : isWhole);
    if (!stands) return this.#repair(matcher, head + tail.slice(0, length), head);
    if (isWhole && !isControl && at.forcedText().texts.length > 0) return this.#force(head + tail, at);
    this.#push(token);
    if (stream.pending !== '') return [token];
    this.#matcher = at;
    // Bytes that make no character are read in another way by llama.cpp.
    this.#grammarStale ||= head !== '' || tail.includes('\uFFFD');
    return at.mustEnd || at.forcedText().texts.length > 0 ? [token, ...this.#force('', at)] : [token];
  }

  /** Writes as much of what was drawn as fits, for it does not fit as a whole, and at least something. */
  #repair(matcher: GrammarMatcher, fitting: string, head: string): readonly Token[] {
    const { pending } = this.#options.stream;
    const kept = fitting.startsWith(pending) ? fitting.slice(pending.length) : '';
    const { walk: at } = matcher.accept((pending + kept).slice(head.length));
    if (kept !== '' || at.forcedText().texts.length > 0) return this.#force(kept, at);
    const some = at.anyNextCharacter() ?? '';
    return this.#force(some, at.accept(some).walk);
  }

  /** Writes decided text and what has to follow it. */
  #force(own: string, matcher: GrammarMatcher): readonly Token[] {
    const { tokens, matcher: end } = this.#forcedText.tokenize(own, matcher);
    const written: Token[] = [];
    this.#matcher = end;
    this.#grammarStale = true;
    for (const token of tokens) {
      if (!end.mustEnd && this.finishReason) break;
      this.#push(token);
      written.push(token);
    }
    if (end.mustEnd) this.#leaveGrammar();
    return written;
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

/** The text of a token: what precedes the bound piece, and what is in it. */
interface SampledText {
  readonly before: string;
  readonly inside: string;
}
