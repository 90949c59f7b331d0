import { commonPrefixLength } from '../../../base/commonPrefix.ts';
import { GrammarMatcher } from '../../../chat/grammar/matcher.ts';
import type { TextRule, CallGrammar, FullGrammar } from '../../../chat/grammar/rule.ts';
import { joinTexts, likelyContinuations } from '../../decoding/forcedTokens.ts';
import type { Token } from '../../decoding/tokenizer.ts';
import type { RemotePrompts } from './remotePrompts.ts';
import { Fault } from '../../../protocol/fault.ts';
import { findTrigger } from '../../../chat/reply/triggers.ts';
import { type ReplyMarks, tagsOf } from '../../../chat/replyMarks.ts';
import type { FinishReason, GenerateOptions } from '../../contract/engine.ts';
import { toGbnf } from '../../../chat/grammar/gbnf.ts';
import { withAnswerMark } from '../../../chat/dialect/marks.ts';
import { GenerationText, type GeneratedPiece } from './generatedText.ts';
import { ReasoningBudget } from '../../decoding/reasoningBudget.ts';

/** What a generation continues. */
export interface GenerationStart {
  readonly prompts: RemotePrompts;
  readonly replyMarks: ReplyMarks;
  /** Text that the chat template has begun for the model. */
  readonly prefix: string;
  /** Largest number of all generated tokens: what is left of the context. */
  readonly maxContextTokens: number;
  /** Whether the model was asked to reason. */
  readonly mayReason: boolean;
  /** The mark that opens the answer, which the prompt has not written; "" = none. */
  readonly answerMark: string;
}

/** Forced text to the end of the grammar of at most so many tokens is appended beyond the maximum of tokens. */
const maxClosingTokens = 32;

/**
 * The state of a generation: its text, and what constrains what comes next. A server is asked for one segment after the other,
 * and each continues the tokens so far.
 *
 * | segment       | `matcher` | ends with                                            | next                                |
 * | ------------- | --------- | ---------------------------------------------------- | ----------------------------------- |
 * | unconstrained | undefined | a trigger of a lazy grammar                          | constrained                         |
 * | reasoning     | undefined | its own end, or its budget: then a mark is appended  | constrained (full grammar), or free |
 * | constrained   | set       | the end of its rule                                  | lazy grammar: unconstrained; full: done |
 */
export class Generation {
  readonly text: GenerationText;
  readonly #start: GenerationStart;
  readonly #grammar: CallGrammar | undefined;
  readonly #budget: ReasoningBudget | undefined;
  readonly #maxFreeTokens: number;
  readonly #maxTokens: number;
  /** A full grammar that begins when the reasoning ends. */
  #grammarAfterReasoning: FullGrammar | undefined;
  #matcher: GrammarMatcher | undefined;
  #done = false;
  #freeFrom = 0;
  #freeTokens = 0;
  #constrainedTokens = 0;
  /** Text of the last piece, which is not added yet: forced text follows it, and both are tokenized together. */
  #ownText = '';

  constructor(options: GenerateOptions, start: GenerationStart) {
    const { sampling, maxThinkingTokens = Infinity, controlTokens = false, onText = () => {} } = options;
    const { prompts, replyMarks, prefix } = start;
    this.#start = start;
    this.#maxTokens = sampling.max_tokens;
    this.#grammar = options.grammar && withAnswerMark(options.grammar, start.answerMark);
    this.text = new GenerationText({
      prompts,
      stopStrings: sampling.stop,
      controlTokens,
      tags: tagsOf(replyMarks),
      onText,
    });
    const full = this.#grammar?.kind === 'full' ? this.#grammar : undefined;
    const reasonsFirst = full !== undefined && prefix !== '';
    if (reasonsFirst) this.#grammarAfterReasoning = full;
    else if (full) this.#matcher = GrammarMatcher.start(full.rule);
    this.#maxFreeTokens = reasonsFirst ? Infinity : sampling.max_tokens;
    const ownBudget = start.mayReason ? Math.min(maxThinkingTokens, sampling.max_tokens) : 0;
    if (reasonsFirst || (!full && maxThinkingTokens !== Infinity))
      this.#budget = new ReasoningBudget(replyMarks, prefix, reasonsFirst ? ownBudget : maxThinkingTokens);
  }

  /** The grammar that the next segment has to fit, in GBNF; undefined: it is unconstrained. */
  get gbnf(): string | undefined {
    return this.#matcher && toGbnf(this.#matcher);
  }

  /** Tokens that the next segment can have. */
  get maxSegmentTokens(): number {
    const left = this.#matcher
      ? this.#maxConstrainedTokens - this.#constrainedTokens
      : this.#maxFreeTokens - this.#freeTokens;
    return Math.min(left, this.#contextTokensLeft);
  }

  /** Why no more tokens are to be generated; undefined: continue. */
  get finishReason(): FinishReason | undefined {
    if (this.#done) return 'end';
    if (this.text.stopped) return 'stop';
    return this.maxSegmentTokens <= 0 ? 'length' : undefined;
  }

  /** Appends what is not left to the model before the next segment: the end of reasoning, or of a call without room. */
  async prepareSegment(): Promise<void> {
    if (this.#budget?.isSpent && !this.finishReason) await this.#append(this.#budget.closing());
    const grammar = this.#grammarAfterReasoning;
    if (grammar && this.#budget && !this.#budget.isReasoning) {
      await this.#append(this.#budget.afterClosing());
      this.#grammarAfterReasoning = undefined;
      this.#matcher = GrammarMatcher.start(grammar.rule);
    }
    if (this.#matcher) await this.#force(this.#matcher);
  }

  /** Adds a piece that the server has generated. Returns whether the segment ends with it. */
  accept(piece: GeneratedPiece): boolean {
    if (this.#matcher) return this.#acceptConstrained(piece, this.#matcher, '', piece.text);
    const before = this.#fullText;
    const now = before + this.text.shown(piece);
    const grammar = this.#grammar;
    const range = { start: this.#freeFrom, searchedTo: before.length };
    const match =
      grammar?.kind === 'lazy' ? findTrigger(now, grammar.triggers, range, this.#start.replyMarks) : undefined;
    if (!match) {
      this.text.push(piece, false);
      this.#freeTokens += piece.count;
      this.#budget?.push(now.slice(before.length), piece.count);
      const isReasoningOver = this.#grammarAfterReasoning !== undefined && this.#budget?.isReasoning === false;
      return this.finishReason !== undefined || isReasoningOver || this.#budget?.isSpent === true;
    }
    const { trigger, end } = match;
    this.#constrainedTokens = 0;
    const { matcher } = GrammarMatcher.start(trigger.rule).accept(trigger.text);
    this.#acceptConstrained(piece, matcher, now.slice(before.length, end), now.slice(end));
    return true;
  }

  /**
   * Adds a piece inside the constrained text.
   * @param before its part before the constrained text; it ends with a trigger.
   * @param inside the rest of it.
   */
  #acceptConstrained(piece: GeneratedPiece, matcher: GrammarMatcher, before: string, inside: string): boolean {
    const { matcher: next, length } = matcher.accept(inside);
    // What follows a trigger was not bound yet. Everything else was.
    if (before === '' && length < inside.length)
      throw new Fault('INFERENCE_FAILED', `the inference server does not follow the grammar: ${notFollowed(piece)}`);
    this.#matcher = next;
    const isForced = this.#isForced(next);
    const isKeptControl = piece.isControl && (inside === '' || matcher.allowsTag(inside));
    const isMerged = !isKeptControl && isForced && piece.tokens !== undefined;
    if (!isMerged) this.#constrainedTokens += piece.count;
    if (isKeptControl) this.text.push(piece, true);
    else if (isMerged) this.#ownText = before + inside.slice(0, length);
    // A control token that stands for a text is that text.
    else if (piece.isControl || length < inside.length)
      this.text.push({ ...piece, text: before + inside.slice(0, length), tokens: undefined, isControl: false }, true);
    else this.text.push(piece, true);
    if (next.mustEnd) this.#leaveGrammar();
    return isForced || next.mustEnd || this.finishReason !== undefined;
  }

  #leaveGrammar(): void {
    this.#matcher = undefined;
    if (this.#grammar?.kind === 'full') this.#done = true;
    this.#freeFrom = this.#fullText.length;
  }

  /**
   * Whether the text that the grammar forces is appended here. A server that is sent text makes other tokens of it where it is
   * cut, so there the model writes it, except what it cannot write: control tokens, and an end without room.
   */
  #isForced(matcher: GrammarMatcher): boolean {
    const { texts } = matcher.forcedText();
    const { isExact } = this.#start.prompts.vocabulary;
    return texts.length > 0 && (isExact || this.maxSegmentTokens <= 0 || texts.some(({ control }) => control));
  }

  /** Appends the text that the grammar forces, together with the text of the last piece before it. */
  async #force(matcher: GrammarMatcher): Promise<void> {
    const ownText = this.#ownText;
    this.#ownText = '';
    if (ownText === '' && !this.#isForced(matcher)) return;
    const forced = await forceRemotely(ownText, matcher, this.#start.prompts);
    const { tokens } = forced;
    const isClosing = forced.matcher.mustEnd && tokens.length <= Math.min(maxClosingTokens, this.#contextTokensLeft);
    const kept = isClosing ? tokens : tokens.slice(0, Math.max(0, this.maxSegmentTokens));
    if (kept.length === 0) return;
    const isWhole = kept.length === tokens.length;
    const text = isWhole ? forced.text : await this.#start.prompts.spell(kept);
    const count = kept.length;
    this.text.push({ text, tokens: kept, count, isControl: false }, true);
    this.#constrainedTokens += count;
    if (!isWhole) return;
    this.#matcher = forced.matcher;
    if (forced.matcher.mustEnd) this.#leaveGrammar();
  }

  async #append(text: string): Promise<void> {
    if (text === '') return;
    const tokens: readonly Token[] = await this.#start.prompts.continuation(text, true);
    if (tokens.length > this.#contextTokensLeft) return;
    this.text.push({ text, tokens, count: tokens.length, isControl: false }, true);
    this.#freeTokens += tokens.length;
    this.#budget?.push(text, 0);
  }

  get #fullText(): string {
    return this.#start.prefix + this.text.decoded;
  }

  get #contextTokensLeft(): number {
    return this.#start.maxContextTokens - this.text.count;
  }

  get #maxConstrainedTokens(): number {
    return this.#grammar?.budget ?? this.#maxTokens;
  }
}

const notFollowed = ({ text }: GeneratedPiece): string =>
  `it has written ${JSON.stringify(text)}; update the server, or use the model without strict`;

/** Forced text as tokens. */
interface RemoteForcedText {
  readonly text: string;
  readonly tokens: readonly Token[];
  /** The position in the grammar after it. */
  readonly matcher: GrammarMatcher;
}

/**
 * The tokens for `ownText` and the text that the grammar forces after it, as ForcedTextTokenizer makes them: trailing tokens
 * that could be part of a longer one are left to the model.
 * @param ownText text that was chosen and is not in tokens yet; may be empty.
 * @param matcher the position in the grammar after `ownText`.
 */
async function forceRemotely(
  ownText: string,
  matcher: GrammarMatcher,
  prompts: RemotePrompts,
): Promise<RemoteForcedText> {
  const { vocabulary } = prompts;
  const { texts, matcher: after } = matcher.forcedText();
  const controlOf = ({ text, control }: TextRule): Token | undefined =>
    control ? vocabulary.controlToken(text) : undefined;
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
  const whole = {
    text: ownText + joinTexts(texts),
    tokens: [...headTokens, ...tailTokens],
    matcher: after,
  };
  if (after.mustEnd) return whole;
  const others = await Promise.all(
    likelyContinuations(after).map((continuation) => prompts.continuation(tail + continuation, false)),
  );
  const keptCount = Math.min(tailTokens.length, ...others.map((other) => commonPrefixLength(tailTokens, other)));
  const keptTokens = tailTokens.slice(0, keptCount);
  const keptText = await prompts.spell(keptTokens);
  const canDrop = headTokens.length + keptCount > 0 && keptText.length >= ownTail.length && tail.startsWith(keptText);
  if (keptCount === tailTokens.length || !canDrop) return whole;
  const forced = joinTexts(head) + keptText.slice(ownTail.length);
  return { text: ownText + forced, tokens: [...headTokens, ...keptTokens], matcher: matcher.accept(forced).matcher };
}
