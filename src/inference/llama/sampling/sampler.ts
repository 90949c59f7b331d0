import type { LlamaGrammarEvaluationState, Token } from 'node-llama-cpp';
import type { GrammarMatcher } from '../../../chat/grammar/matcher.ts';
import type { FinishReason, GenerateOptions } from '../../contract/engine.ts';
import { type DecodingModel, DecodingState, type GrammarEntry } from '../../decoding/decodingState.ts';
import { mayBeginCall, openChoice, type OpenChoice } from '../../decoding/tokenChoices.ts';
import type { GenerationStart } from '../../decoding/sequencePrompts.ts';
import { endsMidCharacter, StreamingDetokenizer } from '../../decoding/streamingDetokenizer.ts';
import type { PromptRenderer } from '../promptRenderer.ts';
import type { GrammarCache } from './grammarCache.ts';
import { defaultReplyMarks, type ReplyMarks, tagsOf } from '../../../chat/replyMarks.ts';
import { MarkSearch } from '../../../chat/markSearch.ts';

export interface SamplerModel extends DecodingModel {
  readonly prompts: PromptRenderer;
  readonly grammarCache: GrammarCache;
}

/** The text of a sampled token, tokens of an incomplete character before it included. */
type SampledText = Pick<GrammarEntry, 'before' | 'inside'>;

/**
 * Sampler of one generation, as decodeLoop drives it: receives each sampled token and returns the tokens to append to the
 * context in its place. In constrained text it samples only where the grammar allows a choice; forced text is appended
 * without sampling (jump-forward decoding), and so is the end of reasoning whose budget is spent. `DecodingState` has the
 * states.
 */
export class Sampler {
  readonly text: StreamingDetokenizer;
  /** What of the text was chosen, as far as it may be a part of a call; undefined: it is not asked for. */
  readonly choices: OpenChoice[] | undefined;
  /** The most probable tokens, of which the next one to accept was sampled; undefined: they do not count, or cannot be read. */
  candidates: ReadonlyMap<Token, number> | undefined;
  /** The grammar that the next token has to fit; undefined: unconstrained. */
  grammar: LlamaGrammarEvaluationState | undefined;
  #mayBeCall = false;
  readonly #model: SamplerModel;
  readonly #state: DecodingState;
  readonly #escapeMarks: ReturnType<typeof markEscaper>;
  /** Whether text was appended that llama.cpp's grammar state has not accepted: it is then made anew. */
  #grammarStale = true;
  /** Accepted tokens whose text is still unsent. */
  #unflushed: Token[] = [];
  /** Length of the text that the budget of reasoning has. */
  #followedLength = 0;

  constructor(model: SamplerModel, options: GenerateOptions, start: GenerationStart) {
    this.#model = model;
    this.text = new StreamingDetokenizer(model.prompts.vocabulary, start.tokens, options);
    this.#state = new DecodingState(options, model, start, this.text);
    this.#escapeMarks = markEscaper(model.replyMarks);
    this.choices = options.choices ? [] : undefined;
  }

  /** Why no more tokens are to be sampled; undefined: continue. */
  get finishReason(): FinishReason | undefined {
    return this.#state.finishReason;
  }

  /** Whether it counts which tokens are most probable next. */
  get isChoosing(): boolean {
    if (!this.choices || this.#state.matcher) return this.choices !== undefined;
    this.#mayBeCall ||= mayBeginCall(this.text.decoded);
    return this.#mayBeCall;
  }

  /** Tokens to append to the prompt before the first token is sampled. */
  async begin(): Promise<readonly Token[]> {
    const { matcher } = this.#state;
    return matcher ? this.#force('', matcher) : this.#endReasoning();
  }

  /** Brings `grammar` up to date before the next token is sampled. */
  async prepare(): Promise<void> {
    const { matcher } = this.#state;
    if (!matcher) this.grammar = undefined;
    else if (this.#grammarStale) this.grammar = await this.#model.grammarCache.stateFor(matcher);
    this.#grammarStale = !matcher;
  }

  /** Receives a sampled token, which is not in the context yet; returns the tokens to append in its place. */
  async accept(token: Token): Promise<readonly Token[]> {
    const state = this.#state;
    this.#recordChoice(token);
    if (state.isFree) {
      this.#unflushed.push(token);
      state.freeTokens++;
      return [token];
    }
    // The text decides what comes next, so it is emitted at once.
    const appended = await this.#accept(token);
    state.budget?.push(this.text.decoded.slice(this.#followedLength), appended.length);
    return [...appended, ...(await this.#endReasoning())];
  }

  /** Emits the text of accepted tokens as far as it is still unsent; a stop string in it may set `finishReason`. */
  flushText(): void {
    for (const token of this.#unflushed.splice(0)) this.text.push(token);
  }

  #recordChoice(token: Token): void {
    const { candidates } = this;
    this.candidates = undefined;
    if (!candidates || !this.choices) return;
    this.flushText();
    const { matcher } = this.#state;
    const allows = matcher && ((other: Token): boolean => this.#isAllowed(other, matcher));
    const start = this.text.decoded.length;
    const textOf = (each: Token): string => this.text.peek(each);
    const end = start + Math.max(1, textOf(token).length);
    this.choices.push({ start, end, ...openChoice(candidates, token, textOf, allows) });
  }

  #isAllowed(token: Token, matcher: GrammarMatcher): boolean {
    const { inside } = this.#constrainedText(token);
    if (this.#model.prompts.vocabulary.isControl(token)) return matcher.allowsTag(inside);
    const whole = endsMidCharacter(inside) ? inside.slice(0, -1) : inside;
    return matcher.accept(whole).length === whole.length;
  }

  async #accept(token: Token): Promise<readonly Token[]> {
    const { matcher } = this.#state;
    if (matcher) return this.#acceptConstrained(token, matcher, this.#constrainedText(token));
    const entry = this.#state.enterGrammar(this.text.peek(token));
    if (entry) return this.#acceptConstrained(token, entry.matcher, entry);
    this.text.push(token);
    this.#state.freeTokens++;
    return [token];
  }

  async #endReasoning(): Promise<readonly Token[]> {
    const wasFree = !this.#state.matcher;
    // Within a character the model goes on.
    const appended = this.text.pending === '' ? await this.#state.endReasoning() : [];
    this.#followedLength = this.text.decoded.length;
    const { matcher } = this.#state;
    return wasFree && matcher ? [...appended, ...(await this.#force('', matcher))] : appended;
  }

  // If a control token is sampled where the grammar wants plain text, its spelling is used as text.
  #constrainedText(token: Token): SampledText {
    const { vocabulary: tokenizer } = this.#model.prompts;
    const isControl = tokenizer.isControl(token);
    return {
      before: '',
      inside: isControl ? this.text.pending + tokenizer.controlSpelling(token) : this.text.peek(token),
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
  async #acceptConstrained(
    token: Token,
    matcher: GrammarMatcher,
    { before, inside }: SampledText,
  ): Promise<readonly Token[]> {
    const stream = this.text;
    const isControl = this.#model.prompts.vocabulary.isControl(token);
    const isTag = isControl && before === '' && matcher.allowsTag(inside);
    const isWhole = !endsMidCharacter(inside) && stream.pending === '';
    // A mark of reasoning inside a JSON string would hide the call from detection, which skips reasoning.
    const accepts = (text: string): boolean => isWhole && matcher.accept(text).length === text.length;
    const escaped = this.#escapeMarks(stream.decoded + before, inside, accepts);
    if (escaped !== undefined) return this.#repair(matcher, before + escaped, before);
    const { matcher: nextMatcher, length: fittingLength } = matcher.accept(inside);
    const isKept = fittingLength === inside.length && (before === '' ? !isControl || isTag : isWhole);
    if (!isKept) return this.#repair(matcher, before + inside.slice(0, fittingLength), before);
    if (isWhole && !isControl && nextMatcher.forcedText().texts.length > 0)
      return this.#force(before + inside, nextMatcher);
    stream.push(token, true);
    this.#state.constrainedTokens++;
    if (stream.pending !== '') return [token];
    this.#state.matcher = nextMatcher;
    // llama.cpp's grammar has not seen a trigger, and decodes invalid bytes to other characters.
    this.#grammarStale ||= before !== '' || inside.includes('\uFFFD');
    return nextMatcher.mustEnd || nextMatcher.forcedText().texts.length > 0
      ? [token, ...(await this.#force('', nextMatcher))]
      : [token];
  }

  /**
   * Appends text in place of a token that cannot be kept, and the forced text after it. Always appends at least one
   * character, so that generation makes progress.
   * @param fittingText `before` and what may follow it; it may begin with the pending text, which is in tokens already.
   */
  #repair(matcher: GrammarMatcher, fittingText: string, before: string): Promise<readonly Token[]> {
    const { pending } = this.text;
    const newText = fittingText.startsWith(pending) ? fittingText.slice(pending.length) : '';
    const { matcher: nextMatcher } = matcher.accept((pending + newText).slice(before.length));
    if (newText !== '' || nextMatcher.forcedText().texts.length > 0) return this.#force(newText, nextMatcher);
    const character = nextMatcher.anyNextCharacter() ?? '';
    return this.#force(character, nextMatcher.accept(character).matcher);
  }

  #force(ownText: string, matcher: GrammarMatcher): Promise<readonly Token[]> {
    this.#grammarStale = true;
    return this.#state.force(ownText, matcher);
  }
}

/**
 * Makes the function that escapes the marks of a reply in the text of JSON strings, so that the text has no mark any more. It
 * gives a piece of JSON text in which the last character of each mark is escaped (`<think\u003e`), also of a mark that starts
 * in the text before the piece. Within a JSON string the value stays the same. Undefined: there is nothing to escape, or the
 * piece is not in a JSON string. Its `accepts` says whether a text may stand in place of the piece.
 */
export function markEscaper(marks: ReplyMarks = defaultReplyMarks) {
  const search = new MarkSearch(tagsOf(marks));
  /** Replaces the last character of each mark that ends in the piece. */
  const replace = (before: string, piece: string, replacement: (character: string) => string): string => {
    const lastCharacters = before.slice(Math.max(0, before.length - search.maxLength + 1));
    const from = lastCharacters.length;
    const replaced = search.replace(lastCharacters + piece, (mark, start) =>
      start + mark.length <= from ? mark : mark.slice(0, -1) + replacement(mark.slice(-1)),
    );
    return replaced.slice(from);
  };
  return (before: string, piece: string, accepts: (text: string) => boolean): string | undefined => {
    const escaped = replace(before, piece, unicodeEscape);
    if (escaped === piece || !accepts(escaped)) return undefined;
    // Where an invalid escape is text, too, the value is written raw.
    return accepts(replace(before, piece, () => invalidEscape)) ? undefined : escaped;
  };
}

const unicodeEscape = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
const invalidEscape = '\\q';
