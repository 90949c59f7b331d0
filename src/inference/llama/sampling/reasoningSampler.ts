import type { LlamaGrammarEvaluationState, Token } from 'node-llama-cpp';
import { hasTag, type ReasoningMarks, type ReplyMarks } from '../../../chat/replyMarks.ts';
import { ReplyScanner } from '../../../chat/reply/reasoning/replyScanner.ts';
import type { FinishReason } from '../../contract/engine.ts';
import type { StreamingDetokenizer } from '../../decoding/streamingDetokenizer.ts';
import type { Tokenizer } from '../../decoding/tokenizer.ts';
import type { Sampler } from './sampler.ts';

export interface ReasoningSamplerOptions {
  readonly sampler: Sampler;
  /** Takes the place of `sampler` where the reasoning that the prompt has opened ends: constrained text starts there. */
  readonly samplerAfterReasoning: Sampler | undefined;
  readonly stream: StreamingDetokenizer;
  readonly tokenizer: Tokenizer;
  readonly replyMarks: ReplyMarks;
  /** Text that the chat template has begun for the model (a mark that opens reasoning). */
  readonly prefix: string;
  /** Largest number of tokens of all reasoning together. */
  readonly maxReasoningTokens: number;
  /** Largest number of all generated tokens: what is left of the context. */
  readonly maxContextTokens: number;
}

/**
 * Sampler with a budget of reasoning tokens. Once it is spent, the end of the reasoning is appended without sampling (as
 * forced text is), and the model goes on with the answer. Everything else is left to another sampler.
 *
 * | the text so far                                          | after a token                                          |
 * | -------------------------------------------------------- | ------------------------------------------------------ |
 * | ends in no reasoning                                     | nothing                                                |
 * | ends in reasoning, the budget is not spent               | the token is counted                                   |
 * | ... spent, within a character or perhaps a closing mark  | nothing: the model may end it by itself                |
 * | ... spent                                                | the closing mark, as the chat template writes it       |
 * | ... spent, and the model has opened reasoning again      | the closing mark and the opening mark of the answer    |
 */
export class ReasoningSampler implements Sampler {
  readonly #options: ReasoningSamplerOptions;
  readonly #scanner: ReplyScanner;
  #sampler: Sampler;
  #scannedLength = 0;
  #reasoningTokens = 0;
  #closings = 0;
  /** The marks of the last reasoning. */
  #marks: ReasoningMarks | undefined;
  /** Whether the context has no room for the end of the reasoning. */
  #isFull = false;

  constructor(options: ReasoningSamplerOptions) {
    this.#options = options;
    this.#sampler = options.sampler;
    this.#scanner = new ReplyScanner(options.replyMarks, () => undefined);
    this.#scanner.push(options.prefix);
    this.#marks = this.#scanner.reasoning;
  }

  get finishReason(): FinishReason | undefined {
    return this.#isFull || this.#contextTokensLeft <= 0 ? 'length' : this.#sampler.finishReason;
  }

  get grammar(): LlamaGrammarEvaluationState | undefined {
    return this.#sampler.grammar;
  }

  begin(): readonly Token[] {
    return [...this.#sampler.begin(), ...this.#endReasoning()];
  }

  prepare(): Promise<void> {
    return this.#sampler.prepare();
  }

  accept(token: Token): readonly Token[] {
    const tokens = this.#sampler.accept(token);
    // The text decides what comes next, so it is emitted at once.
    this.#sampler.flushText();
    const wasReasoning = this.#scanner.reasoning !== undefined;
    this.#scan();
    if (wasReasoning && this.#scanner.reasoning) this.#reasoningTokens += tokens.length;
    return [...tokens, ...this.#endReasoning()];
  }

  flushText(): void {
    this.#sampler.flushText();
  }

  get #contextTokensLeft(): number {
    return this.#options.maxContextTokens - this.#options.stream.tokens.length;
  }

  #scan(): void {
    const { decoded } = this.#options.stream;
    this.#scanner.push(decoded.slice(this.#scannedLength));
    this.#scannedLength = decoded.length;
    this.#marks = this.#scanner.reasoning ?? this.#marks;
  }

  /** Ends reasoning whose budget is spent, and starts what follows reasoning. Returns the appended tokens. */
  #endReasoning(): readonly Token[] {
    const { stream, samplerAfterReasoning, maxReasoningTokens } = this.#options;
    const isSpent = this.#reasoningTokens >= maxReasoningTokens;
    const isUndecided = stream.pending !== '' || this.#scanner.held !== '';
    const appended: Token[] = [];
    if (this.#scanner.reasoning && isSpent && !isUndecided && !this.#sampler.finishReason)
      appended.push(...this.#append(this.#closingText(this.#scanner.reasoning.ending)));
    const isOver = this.#scanner.reasoning === undefined && !this.#isFull;
    if (!isOver || !samplerAfterReasoning || this.#sampler === samplerAfterReasoning) return appended;
    this.#sampler = samplerAfterReasoning;
    if (appended.length === 0) appended.push(...this.#append(this.#textAfterClosing()));
    return [...appended, ...samplerAfterReasoning.begin()];
  }

  #closingText(ending: string): string {
    const { replyMarks, stream } = this.#options;
    const text = stream.decoded.endsWith('\n') ? ending.trimStart() : ending;
    this.#closings++;
    // A model that opens its reasoning again and again would never answer.
    const answerOpen = replyMarks.answer?.open ?? '';
    return this.#closings > 1 && hasTag(answerOpen) ? text + answerOpen : text;
  }

  /** What the chat template writes after the closing mark, where the model has written it. */
  #textAfterClosing(): string {
    const { close = '', ending = '' } = this.#marks ?? {};
    const isAtClose = close !== '' && this.#options.stream.decoded.endsWith(close);
    return isAtClose ? ending.slice(ending.indexOf(close) + close.length) : '';
  }

  #append(text: string): readonly Token[] {
    const { stream, tokenizer } = this.#options;
    const tokens = tokenizer.tokenizeContinuation(text, true);
    this.#isFull = tokens.length > this.#contextTokensLeft;
    if (this.#isFull) return [];
    for (const token of tokens) stream.push(token, true);
    this.#scan();
    return tokens;
  }
}
