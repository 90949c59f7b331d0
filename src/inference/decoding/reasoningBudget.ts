import { ReplyScanner } from '../../chat/reply/reasoning/replyScanner.ts';
import { hasTag, type ReasoningMarks, type ReplyMarks } from '../../chat/replyMarks.ts';

/** Follows the reasoning in a generated text, and ends it when its budget of tokens is spent. */
export class ReasoningBudget {
  readonly #replyMarks: ReplyMarks;
  readonly #maxTokens: number;
  readonly #scanner: ReplyScanner;
  #text: string;
  #tokens = 0;
  #closings = 0;
  /** The marks of the last reasoning. */
  #marks: ReasoningMarks | undefined;

  /** @param prefix text that the chat template has begun for the model. */
  constructor(replyMarks: ReplyMarks, prefix: string, maxTokens: number) {
    this.#replyMarks = replyMarks;
    this.#maxTokens = maxTokens;
    this.#scanner = new ReplyScanner(replyMarks, () => undefined);
    this.#text = prefix;
    this.#scanner.push(prefix);
    this.#marks = this.#scanner.reasoning;
  }

  /** Whether the text so far ends in reasoning. */
  get isReasoning(): boolean {
    return this.#scanner.reasoning !== undefined;
  }

  /** Adds a piece of text of so many tokens. */
  push(piece: string, tokens: number): void {
    const wasReasoning = this.isReasoning;
    this.#text += piece;
    this.#scanner.push(piece);
    this.#marks = this.#scanner.reasoning ?? this.#marks;
    if (wasReasoning && this.isReasoning) this.#tokens += tokens;
  }

  /** Whether the reasoning is to be ended now. */
  get isSpent(): boolean {
    return this.isReasoning && this.#tokens >= this.#maxTokens && this.#scanner.held === '';
  }

  /** The text that ends the reasoning. */
  closing(): string {
    const reasoning = this.#scanner.reasoning;
    if (!reasoning) return '';
    this.#closings++;
    const text = this.#text.endsWith('\n') ? reasoning.ending.trimStart() : reasoning.ending;
    // A model that opens its reasoning again and again would never answer.
    const answerOpen = this.#replyMarks.answer?.open ?? '';
    return this.#closings > 1 && hasTag(answerOpen) ? text + answerOpen : text;
  }

  /** What the chat template writes after the closing mark, where the model has written it. */
  afterClosing(): string {
    const { close = '', ending = '' } = this.#marks ?? {};
    return close !== '' && this.#text.endsWith(close) ? ending.slice(ending.indexOf(close) + close.length) : '';
  }
}
