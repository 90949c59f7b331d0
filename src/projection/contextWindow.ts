import type { Interaction } from '../dialog.ts';
import type { Model } from '../engine/engine.ts';
import { Fault } from '../fault.ts';

// Above the high mark the oldest interactions go until the prompt is at this share of it, so that the next cut is many turns away.
const trimTarget = 0.75;

/** The part of a dialog that fits: a window whose beginning only ever moves forward, so that what was cut stays cut. */
export class ContextWindow {
  readonly #model: Model;
  readonly #tokens = new WeakMap<Interaction, number>();
  #trimmed = 0;
  #lastTrimmed: Interaction | undefined;

  constructor(model: Model) {
    this.#model = model;
  }

  /**
   * The youngest interactions that fit beside `fixed`: texts, and tokens of something else, that are never cut.
   * @param maxTokens the most that the answer may take; at most a quarter of the context is kept free for it.
   * @throws Fault PROMPT_TOO_LARGE with the numbers, when what is fixed does not fit alone.
   */
  async fit(
    interactions: readonly Interaction[],
    fixed: { readonly texts: readonly string[]; readonly tokens: number },
    maxTokens: number,
  ): Promise<{ readonly visible: readonly Interaction[]; readonly dropped: number }> {
    const { contextSize } = this.#model;
    const high = contextSize - Math.min(maxTokens, Math.floor(contextSize / 4));
    // No token of any vocabulary stands for more text than this, so what is far too long need not be tokenised to know.
    const length = fixed.texts.reduce((sum, text) => sum + text.length, 0);
    if (length > contextSize * maxTokenBytes) throw tooLarge(`${length} characters`, high, contextSize);
    const base = this.#model.overhead.prompt + fixed.tokens + (await this.#count(fixed.texts));
    if (base > high) {
      throw tooLarge(`${base} tokens`, high, contextSize);
    }
    // In a dialog that was cleared, what was cut last is no longer where it was.
    if (interactions[this.#trimmed - 1] !== this.#lastTrimmed) this.#trimmed = 0;
    const sizes = await Promise.all(interactions.slice(this.#trimmed).map((one) => this.#size(one)));
    let total = base + sizes.reduce((sum, size) => sum + size, 0);
    if (total > high) {
      for (const size of sizes) {
        if (total <= trimTarget * high) break;
        total -= size;
        this.#trimmed++;
      }
    }
    this.#lastTrimmed = interactions[this.#trimmed - 1];
    return { visible: interactions.slice(this.#trimmed), dropped: this.#trimmed };
  }

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

const maxTokenBytes = 256;

const tooLarge = (size: string, high: number, contextSize: number): Fault =>
  new Fault(
    'PROMPT_TOO_LARGE',
    `system prompt, tools and message take ${size}, and ${high} tokens of the context's ${contextSize} are free for them; shorten them or choose a larger context_size`,
  );
