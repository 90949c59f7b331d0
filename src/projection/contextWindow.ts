import type { Interaction } from '../dialog.ts';
import type { Model } from '../engine/engine.ts';
import { Fault } from '../fault.ts';

// A prompt above the limit is trimmed to this share of it. Trimming changes the prefix of the prompt and so costs a new
// prefill; this makes the next one many turns away.
const trimTarget = 0.75;

/**
 * Context window truncation: a window over a dialog whose start only moves forward, and in large steps, so that the
 * prompts of consecutive turns share a prefix and the KV cache can be reused.
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
   * The newest interactions that fit in addition to `fixed`, which is never dropped: texts of messages, and tokens of
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
    if (fixedTokens > limit) throw tooLarge(`${fixedTokens} tokens`, limit, contextSize);
    // A dialog that was cleared no longer has the interaction that was trimmed last.
    if (interactions[this.#trimmed - 1] !== this.#lastTrimmed) this.#trimmed = 0;
    const sizes = await Promise.all(interactions.slice(this.#trimmed).map((interaction) => this.#size(interaction)));
    let total = fixedTokens + sizes.reduce((sum, size) => sum + size, 0);
    if (total > limit) {
      for (const size of sizes) {
        if (total <= trimTarget * limit) break;
        total -= size;
        this.#trimmed++;
      }
    }
    this.#lastTrimmed = interactions[this.#trimmed - 1];
    return { visible: interactions.slice(this.#trimmed), dropped: this.#trimmed };
  }

  /** Tokens of an interaction, counted once. */
  async #size(interaction: Interaction): Promise<number> {
    const known = this.#tokens.get(interaction);
    if (known !== undefined) return known;
    const size = await this.#count([interaction.user, interaction.assistant]);
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
