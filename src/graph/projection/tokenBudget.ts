import { resultLine } from '../../chat/tool.ts';
import type { Dialog, DialogResult, Interaction, Message } from '../../chat/dialog.ts';
import type { Model } from '../../inference/contract/engine.ts';
import { Fault } from '../../protocol/fault.ts';

/** What a node puts into its prompt. */
export interface PromptInputs {
  readonly dialog: Dialog;
  /** Text of the system message; "" = none. */
  readonly system: string;
  /** The user's message and a template at its placement; never dropped. */
  readonly current: readonly Message[];
  /** Largest number of tokens of the answer. */
  readonly maxTokens: number;
}

/** The token budget of a node: makes the messages of a prompt, and drops the oldest interactions that do not fit it. */
export class TokenBudget {
  readonly #window: ContextWindow;

  constructor(model: Model) {
    this.#window = new ContextWindow(model);
  }

  /** @param otherTokens tokens of the prompt that are not messages. */
  async messages(
    { dialog, system, current, maxTokens }: PromptInputs,
    otherTokens = 0,
  ): Promise<{ readonly messages: readonly Message[]; readonly dropped: number }> {
    const systemMessages: readonly Message[] = system === '' ? [] : [{ role: 'system', text: system }];
    const texts = [...systemMessages, ...current].map(({ text }) => text);
    const { visible, dropped } = await this.#window.fit(
      dialog.interactions.filter(isAnswered),
      { texts, tokens: otherTokens },
      maxTokens,
    );
    return { messages: [...systemMessages, ...visible.flatMap(toMessages), ...current], dropped };
  }
}

// A prompt above the limit is trimmed to this share of it. Trimming changes the prefix of the prompt and so costs a new
// prefill; this makes the next one many turns away.
const trimTarget = 0.75;

// Interactions in one prompt. A chat template renders all messages in one synchronous call.
const maxInteractions = 500;

/**
 * Context window truncation, which cuts the dialog to the token budget: a window over the dialog whose start only moves
 * forward, and in large steps, so that the prompts of consecutive turns share a prefix and the KV cache can be reused.
 */
export class ContextWindow {
  readonly #model: Model;
  readonly #tokens = new WeakMap<Interaction, number>();
  #trimmed = 0;
  #lastTrimmed: Interaction | undefined;

  constructor(model: Model) {
    this.#model = model;
  }

  /**
   * The newest interactions, at most 500, that fit in addition to `fixed`, which is never dropped: texts of messages, and tokens of
   * anything else.
   * @param maxTokens largest number of tokens of the answer; at most a quarter of the context is reserved for it.
   * @throws Fault PROMPT_TOO_LARGE with the numbers, when `fixed` alone does not fit.
   */
  async fit(
    interactions: readonly Interaction[],
    fixed: { readonly texts: readonly string[]; readonly tokens: number },
    maxTokens: number,
  ): Promise<{ readonly visible: readonly Interaction[]; readonly dropped: number }> {
    const { contextSize } = this.#model;
    const limit = contextSize - Math.min(maxTokens, Math.floor(contextSize / 4));
    // A token of any vocabulary has fewer characters than this, so texts that are far too long need not be tokenized.
    const characters = fixed.texts.reduce((sum, text) => sum + text.length, 0);
    if (characters > contextSize * maxTokenCharacters) throw tooLarge(`${characters} characters`, limit, contextSize);
    const fixedTokens = this.#model.overhead.prompt + fixed.tokens + (await this.#count(fixed.texts));
    // Above the context size, the model may have stopped counting.
    const size = fixedTokens > contextSize ? `more than ${contextSize} tokens` : `${fixedTokens} tokens`;
    if (fixedTokens > limit) throw tooLarge(size, limit, contextSize);
    // A dialog that was cleared no longer has the interaction that was trimmed last.
    if (interactions[this.#trimmed - 1] !== this.#lastTrimmed) this.#trimmed = 0;
    this.#trimmed = await this.#findStart(interactions, fixedTokens, limit);
    this.#lastTrimmed = interactions[this.#trimmed - 1];
    return { visible: interactions.slice(this.#trimmed), dropped: this.#trimmed };
  }

  /**
   * The index of the oldest interaction that is kept. Counts from the newest on and no further than the limit, so that
   * the work does not grow with the dialog.
   */
  async #findStart(interactions: readonly Interaction[], fixedTokens: number, limit: number): Promise<number> {
    let total = fixedTokens;
    let trimmedStart = interactions.length;
    for (let index = interactions.length - 1; index >= this.#trimmed; index--) {
      const interaction = interactions[index];
      if (interaction) total += await this.#size(interaction);
      const count = interactions.length - index;
      if (total > limit || count > maxInteractions) return trimmedStart;
      if (total <= trimTarget * limit && count <= trimTarget * maxInteractions) trimmedStart = index;
    }
    return this.#trimmed;
  }

  /** Tokens of an interaction, counted once. */
  async #size(interaction: Interaction): Promise<number> {
    const known = this.#tokens.get(interaction);
    if (known !== undefined) return known;
    const size = await this.#count(toMessages(interaction).map(({ text }) => text));
    this.#tokens.set(interaction, size);
    return size;
  }

  async #count(texts: readonly string[]): Promise<number> {
    const counts = await this.#model.count(texts);
    return counts.reduce((sum, count) => sum + count + this.#model.overhead.message, 0);
  }
}

const maxTokenCharacters = 256;

const tooLarge = (size: string, limit: number, contextSize: number): Fault =>
  new Fault(
    'PROMPT_TOO_LARGE',
    `system prompt, tools and message take ${size}, and ${limit} tokens of the context's ${contextSize} are free for them; shorten them or choose a larger context_size`,
  );

/**
 * Whether a prompt shows an interaction. One without an answer, for example of a turn that failed, would leave a question
 * open, and the model would answer it again.
 */
const isAnswered = ({ assistant, spoken = '', messages }: Interaction): boolean =>
  messages !== undefined || assistant !== '' || spoken !== '';

/** An interaction as messages of a prompt. */
function toMessages({ user, assistant, spoken, results = [], messages }: Interaction): readonly Message[] {
  if (messages) return messages;
  return [
    // What was appended to the dialog may have no message of the user.
    ...(user === '' && assistant !== '' ? [] : [{ role: 'user', text: user } as const]),
    ...results.map((result) => ({ role: 'system', text: dialogResultLine(result) }) as const),
    { role: 'assistant', text: assistant || (spoken ?? '') },
  ];
}

/** A result of an earlier turn as a plain line: never as a call, because models imitate the calls that they see. */
const dialogResultLine = ({ name, arguments_json, ok, content }: DialogResult): string =>
  resultLine({ name: arguments_json === '{}' ? name : `${name} ${arguments_json}`, ok, content });
