import type { Token } from 'node-llama-cpp';
import { withAnswerMark } from '../../chat/dialect/layout.ts';
import { GrammarMatcher, firstCharacter } from '../../chat/grammar/matcher.ts';
import type { CallGrammar, FullGrammar, Rule, TextRule } from '../../chat/grammar/rule.ts';
import { findTrigger } from '../../chat/triggers.ts';
import { type ReplyMarks, hasTag } from '../../chat/replyMarks.ts';
import type { FinishReason, GenerateOptions } from '../contract/engine.ts';
import type { GenerationStart, SequencePromptsParts } from './sequencePrompts.ts';
import type { StreamingDetokenizer } from './streamingDetokenizer.ts';
import type { PromptTokenizer } from './templateRenderer.ts';
import { ReplyScanner } from '../../chat/reply/reasoning/replyScanner.ts';
import { commonPrefixLength } from '../../base/commonPrefix.ts';

/** The text of a generation, as far as its state depends on it. */
interface DecodedText extends Pick<StreamingDetokenizer, 'decoded' | 'count' | 'stopped'> {
  /** Adds tokens that the model has not chosen, and their text. */
  append(tokens: readonly Token[], text: string): void;
}

export type DecodingModel = Pick<SequencePromptsParts, 'prompts' | 'replyMarks'>;

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
      this.budget = reasoningBudget(model.replyMarks, prefix, reasonsFirst ? ownBudget : maxThinkingTokens);
  }

  /** Whether nothing in the text has an effect on what comes next. */
  get isFree(): boolean {
    return !this.#grammar && !this.budget;
  }

  /** Whether reasoning is over, and its end is not appended yet. */
  get isReasoningOver(): boolean {
    return this.budget?.isSpent() === true || (this.#grammarAfterReasoning && this.budget?.isReasoning()) === false;
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
    if (budget.isSpent() && !this.finishReason) appended.push(...(await this.#append(budget.closing(), budget)));
    const grammar = this.#grammarAfterReasoning;
    if (!grammar || budget.isReasoning() || this.#isFull) return appended;
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

export type ReasoningBudget = ReturnType<typeof reasoningBudget>;

/**
 * Follows the reasoning in a generated text, and ends it when its budget of tokens is spent.
 * @param prefix text that the chat template has begun for the model.
 */
export function reasoningBudget(replyMarks: ReplyMarks, prefix: string, maxTokens: number) {
  const scanner = new ReplyScanner(replyMarks, () => undefined);
  scanner.push(prefix);
  let text = prefix;
  let spent = 0;
  let closings = 0;
  /** The marks of the last reasoning. */
  let marks = scanner.reasoning;
  /** Whether the text so far ends in reasoning. */
  const isReasoning = (): boolean => scanner.reasoning !== undefined;
  return {
    isReasoning,
    /** Adds a piece of text of so many tokens. */
    push(piece: string, tokens: number): void {
      const wasReasoning = isReasoning();
      text += piece;
      scanner.push(piece);
      marks = scanner.reasoning ?? marks;
      if (wasReasoning && isReasoning()) spent += tokens;
    },
    /** Whether the reasoning is to be ended now. */
    isSpent: (): boolean => isReasoning() && spent >= maxTokens && scanner.held === '',
    /** The text that ends the reasoning. */
    closing(): string {
      const { reasoning } = scanner;
      if (!reasoning) return '';
      closings++;
      const ending = text.endsWith('\n') ? reasoning.ending.trimStart() : reasoning.ending;
      // A model that opens its reasoning again and again would never answer.
      const answerOpen = replyMarks.answer?.open ?? '';
      return closings > 1 && hasTag(answerOpen) ? ending + answerOpen : ending;
    },
    /** What the chat template writes after the closing mark, where the model has written it. */
    afterClosing(): string {
      const { close = '', ending = '' } = marks ?? {};
      return close !== '' && text.endsWith(close) ? ending.slice(ending.indexOf(close) + close.length) : '';
    },
  };
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
 *
 * @param ownText text that was chosen and is not in tokens yet; may be empty.
 * @param matcher the position in the grammar after `ownText`.
 * @returns `ownText` with the forced text after it, and the position in the grammar after both.
 */
async function forceText(ownText: string, matcher: GrammarMatcher, prompts: PromptTokenizer) {
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
