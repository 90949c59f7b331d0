import type { Token } from 'node-llama-cpp';
import type { PromptRenderer, RenderedPrompt } from './promptRenderer.ts';
import type { Tokenizer } from '../tokenizer/tokenizer.ts';
import { commonPrefixLength } from '../../commonPrefix.ts';

/** What a model wrote behind a prompt, as far as its tokens spell exactly the text. */
export interface GeneratedText {
  readonly text: string;
  readonly tokens: readonly Token[];
}

interface Snapshot extends RenderedPrompt {
  readonly tokens: readonly Token[];
  /** How many tokens spell the text before each of the places where a later prompt may go on with a control string. */
  readonly resumePoints: ReadonlyMap<number, number>;
}

/**
 * What a sequence has read and written so far, as text and as tokens. A model may spell a text otherwise than the
 * tokeniser would; so that a prompt which repeats the text finds its tokens in the cache, they are taken from here.
 */
export class TokenHistory {
  readonly #renderer: PromptRenderer;
  readonly #tokenizer: Tokenizer;
  #snapshot: Snapshot | undefined;

  constructor(template: PromptRenderer, tokenizer: Tokenizer) {
    this.#renderer = template;
    this.#tokenizer = tokenizer;
  }

  /** The tokens of a prompt: those of before as far as the text is the same, up to a control token of the frame. */
  tokens(prompt: RenderedPrompt): Token[] {
    const memory = this.#snapshot;
    if (!memory) return this.#renderer.tokens(prompt);
    const shared = equalPromptLength(memory, prompt);
    const joint = prompt.controlSpans.findLast(
      ({ start }) => start > 0 && start <= shared && memory.resumePoints.has(start),
    );
    if (!joint) return this.#renderer.tokens(prompt);
    return [
      ...memory.tokens.slice(0, memory.resumePoints.get(joint.start)),
      ...this.#renderer.tokens(prompt, joint.start),
    ];
  }

  /** Keeps a prompt with its tokens, and what was written behind it. */
  remember(prompt: RenderedPrompt, tokens: readonly Token[], written: GeneratedText): void {
    const cuts = this.#resumePoints(prompt, tokens);
    const text = prompt.text + written.text;
    if (cuts.size > 0) cuts.set(text.length, tokens.length + written.tokens.length);
    const masked = this.#renderer.unsafeOffsets(written.text).map((slot) => prompt.text.length + slot);
    this.#snapshot = {
      text,
      maskedOffsets: [...prompt.maskedOffsets, ...masked],
      controlSpans: prompt.controlSpans,
      tokens: [...tokens, ...written.tokens],
      resumePoints: cuts,
    };
  }

  // Where the tokeniser sees other control tokens than the text shows, nothing is known for sure, and nothing is kept.
  #resumePoints(prompt: RenderedPrompt, tokens: readonly Token[]): Map<number, number> {
    const places = tokens.flatMap((token, index) => (this.#tokenizer.isControl(token) ? [index] : []));
    const unwritten = places.length - prompt.controlSpans.length;
    const first = prompt.controlSpans[0]?.start;
    if (unwritten !== 0 && !(unwritten === 1 && places[0] === 0)) return new Map();
    if (first === undefined) return new Map();
    return new Map(prompt.controlSpans.map(({ start }, index) => [start, places[index + unwritten] ?? 0]));
  }
}

/** How far two prompts are the same, letter by letter and mask by mask. */
function equalPromptLength(a: RenderedPrompt, b: RenderedPrompt): number {
  const length = commonPrefixLength(a.text, b.text);
  for (let index = 0; index < Math.max(a.maskedOffsets.length, b.maskedOffsets.length); index++) {
    const [inA, inB] = [a.maskedOffsets[index] ?? Infinity, b.maskedOffsets[index] ?? Infinity];
    if (inA !== inB) return Math.min(length, inA, inB);
  }
  return length;
}
