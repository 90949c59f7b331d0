import type { Token } from 'node-llama-cpp';
import { withAnswerMark } from '../../chat/dialect/layout.ts';
import { GrammarMatcher } from '../../chat/grammar/matcher.ts';
import type { CallGrammar, FullGrammar } from '../../chat/grammar/rule.ts';
import { findTrigger } from '../../chat/triggers.ts';
import type { ReplyMarks } from '../../chat/replyMarks.ts';
import type { FinishReason, GenerateOptions } from '../contract/engine.ts';
import { forceText } from './forcedText.ts';
import { ReasoningBudget } from './reasoningBudget.ts';
import type { GenerationStart } from './sequencePrompts.ts';
import type { StreamingDetokenizer } from './streamingDetokenizer.ts';
import type { PromptTokenizer } from './templateRenderer.ts';

/** The text of a generation, as far as its state depends on it. */
interface DecodedText extends Pick<StreamingDetokenizer, 'decoded' | 'count' | 'stopped'> {
  /** Adds tokens that the model has not chosen, and their text. */
  append(tokens: readonly Token[], text: string): void;
}

export interface DecodingModel {
  readonly prompts: PromptTokenizer;
  readonly replyMarks: ReplyMarks;
}

/** The beginning of constrained text. */
export interface GrammarEntry {
  readonly matcher: GrammarMatcher;
  /** The part of the added text before the constrained text; it ends with the trigger. */
  readonly before: string;
  /** The rest of it. */
  readonly inside: string;
}

/**
 * Forced text to the end of the grammar that has at most so many tokens is appended in full, even beyond the maximum of
 * tokens: the brackets and the tag at the end of a call.
 */
const maxClosingTokens = 32;

/**
 * The state of a generation: what constrains what comes next, and why it ends.
 *
 * | state         | `matcher` | ends with                                              | next state                              |
 * | ------------- | --------- | ------------------------------------------------------ | --------------------------------------- |
 * | unconstrained | undefined | a trigger of a lazy grammar                            | constrained                             |
 * | reasoning     | undefined | its own end, or its budget: then the mark is appended  | constrained (full grammar), or free     |
 * | constrained   | set       | the end of its rule                                    | lazy grammar: unconstrained; full: done |
 *
 * Without a full grammar reasoning is unconstrained text with a budget; triggers in it do not count. Before a full one there is
 * reasoning where the prompt has opened it: without a budget it may take `max_tokens`, and none where the model was not asked
 * to reason. The grammar of an answer starts with the mark that opens answers: after it the model has learned to answer.
 */
export class DecodingState {
  /** Undefined: reasoning has no limit of its own. */
  readonly budget: ReasoningBudget | undefined;
  /** The position in the grammar, after all whole characters; undefined while the text is unconstrained. */
  matcher: GrammarMatcher | undefined;
  /** Unconstrained tokens, all together. */
  freeTokens = 0;
  /** Tokens since the last trigger. */
  constrainedTokens = 0;
  readonly #model: DecodingModel;
  readonly #start: GenerationStart;
  readonly #text: DecodedText;
  readonly #grammar: CallGrammar | undefined;
  readonly #maxTokens: number;
  readonly #maxFreeTokens: number;
  /** A full grammar that begins when the reasoning ends. */
  #grammarAfterReasoning: FullGrammar | undefined;
  #done = false;
  /** Offset in `#fullText` at which unconstrained text last started. */
  #freeFrom = 0;
  /** Whether the context has no room for the end of the reasoning. */
  #isFull = false;

  constructor(
    { grammar, sampling, maxThinkingTokens = Infinity }: GenerateOptions,
    model: DecodingModel,
    start: GenerationStart,
    text: DecodedText,
  ) {
    const { prefix, mayReason, answerMark } = start;
    this.#model = model;
    this.#start = start;
    this.#text = text;
    this.#maxTokens = sampling.max_tokens;
    this.#grammar = grammar && withAnswerMark(grammar, answerMark);
    const full = this.#grammar?.kind === 'full' ? this.#grammar : undefined;
    const reasonsFirst = full !== undefined && prefix !== '';
    if (reasonsFirst) this.#grammarAfterReasoning = full;
    else if (full) this.matcher = GrammarMatcher.start(full.rule);
    this.#maxFreeTokens = reasonsFirst ? Infinity : sampling.max_tokens;
    const ownBudget = mayReason ? Math.min(maxThinkingTokens, sampling.max_tokens) : 0;
    if (reasonsFirst || (!full && maxThinkingTokens !== Infinity))
      this.budget = new ReasoningBudget(model.replyMarks, prefix, reasonsFirst ? ownBudget : maxThinkingTokens);
  }

  /** Whether nothing in the text has an effect on what comes next. */
  get isFree(): boolean {
    return !this.#grammar && !this.budget;
  }

  /** Whether reasoning is over, and its end is not appended yet. */
  get isReasoningOver(): boolean {
    return this.budget?.isSpent === true || (this.#grammarAfterReasoning && this.budget?.isReasoning) === false;
  }

  /** Tokens that can be generated in this state. */
  get tokensLeft(): number {
    const left = this.matcher
      ? (this.#grammar?.budget ?? this.#maxTokens) - this.constrainedTokens
      : this.#maxFreeTokens - this.freeTokens;
    return Math.min(left, this.#contextTokensLeft);
  }

  /** Why no more tokens are to be generated; undefined: continue. */
  get finishReason(): FinishReason | undefined {
    if (this.#done) return 'end';
    if (this.#text.stopped) return 'stop';
    return this.#isFull || this.tokensLeft <= 0 ? 'length' : undefined;
  }

  /** The constrained text that begins within a text that is added to unconstrained text; undefined: none. */
  enterGrammar(added: string): GrammarEntry | undefined {
    if (this.#grammar?.kind !== 'lazy') return undefined;
    const { length } = this.#fullText;
    const text = this.#fullText + added;
    const range = { start: this.#freeFrom, searchedTo: length };
    const match = findTrigger(text, this.#grammar.triggers, range, this.#model.replyMarks);
    if (!match) return undefined;
    this.constrainedTokens = 0;
    const { matcher } = GrammarMatcher.start(match.trigger.rule).accept(match.trigger.text);
    return { matcher, before: text.slice(length, match.end), inside: text.slice(match.end) };
  }

  leaveGrammar(): void {
    this.matcher = undefined;
    this.#done = this.#grammar?.kind === 'full';
    this.#freeFrom = this.#fullText.length;
  }

  /** Appends the end of reasoning whose budget is spent, and starts the grammar after reasoning. Returns the tokens. */
  async endReasoning(): Promise<Token[]> {
    const { budget } = this;
    const appended: Token[] = [];
    if (!budget) return appended;
    if (budget.isSpent && !this.finishReason) appended.push(...(await this.#append(budget.closing(), budget)));
    const grammar = this.#grammarAfterReasoning;
    if (!grammar || budget.isReasoning || this.#isFull) return appended;
    appended.push(...(await this.#append(budget.afterClosing(), budget)));
    this.#grammarAfterReasoning = undefined;
    this.matcher = GrammarMatcher.start(grammar.rule);
    return appended;
  }

  /**
   * Appends `ownText` and the text that the grammar forces after it, as far as there is room (jump-forward decoding).
   * @param matcher the position after `ownText`.
   */
  async force(ownText: string, matcher: GrammarMatcher): Promise<readonly Token[]> {
    const { prompts } = this.#model;
    this.matcher = matcher;
    const forced = await forceText(ownText, matcher, prompts);
    const { tokens } = forced;
    const isClosing = forced.matcher.mustEnd && tokens.length <= Math.min(maxClosingTokens, this.#contextTokensLeft);
    const kept = isClosing ? tokens : tokens.slice(0, Math.max(0, this.tokensLeft));
    const isWhole = kept.length === tokens.length;
    if (kept.length > 0) this.#text.append(kept, isWhole ? forced.text : await prompts.spell(kept));
    this.constrainedTokens += kept.length;
    if (isWhole) this.matcher = forced.matcher;
    if (isWhole && forced.matcher.mustEnd) this.leaveGrammar();
    return kept;
  }

  async #append(text: string, budget: ReasoningBudget): Promise<readonly Token[]> {
    if (text === '') return [];
    const tokens = await this.#model.prompts.continuation(text, true);
    this.#isFull = tokens.length > this.#contextTokensLeft;
    if (this.#isFull) return [];
    this.#text.append(tokens, text);
    budget.push(text, 0);
    return tokens;
  }

  get #fullText(): string {
    return this.#start.prefix + this.#text.decoded;
  }

  // Tokens of unconstrained text may be counted before their text is added.
  get #contextTokensLeft(): number {
    return this.#start.maxContextTokens - Math.max(this.#text.count, this.freeTokens);
  }
}
