import type { Token } from 'node-llama-cpp';
import type { PromptTemplate, Rendered } from './promptRenderer.ts';
import type { Vocabulary } from '../tokenizer/tokenizer.ts';

/** What a model wrote behind a prompt, as far as its tokens spell exactly the text. */
export interface Written {
  readonly text: string;
  readonly tokens: readonly Token[];
}

interface Memory extends Rendered {
  readonly tokens: readonly Token[];
  /** How many tokens spell the text before each of the places where a later prompt may go on with a control string. */
  readonly cuts: ReadonlyMap<number, number>;
}

/**
 * What a sequence has read and written so far, as text and as tokens. A model may spell a text otherwise than the
 * tokeniser would; so that a prompt which repeats the text finds its tokens in the cache, they are taken from here.
 */
export class Transcript {
  readonly #template: PromptTemplate;
  readonly #vocabulary: Vocabulary;
  #memory: Memory | undefined;

  constructor(template: PromptTemplate, vocabulary: Vocabulary) {
    this.#template = template;
    this.#vocabulary = vocabulary;
  }

  /** The tokens of a prompt: those of before as far as the text is the same, up to a control token of the frame. */
  tokens(prompt: Rendered): Token[] {
    const memory = this.#memory;
    if (!memory) return this.#template.tokens(prompt);
    const shared = sharedLength(memory, prompt);
    const joint = prompt.frame.findLast(({ start }) => start > 0 && start <= shared && memory.cuts.has(start));
    if (!joint) return this.#template.tokens(prompt);
    return [...memory.tokens.slice(0, memory.cuts.get(joint.start)), ...this.#template.tokens(prompt, joint.start)];
  }

  /** Keeps a prompt with its tokens, and what was written behind it. */
  remember(prompt: Rendered, tokens: readonly Token[], written: Written): void {
    const cuts = this.#cuts(prompt, tokens);
    const text = prompt.text + written.text;
    if (cuts.size > 0) cuts.set(text.length, tokens.length + written.tokens.length);
    const masked = this.#template.masks(written.text).map((place) => prompt.text.length + place);
    this.#memory = {
      text,
      masked: [...prompt.masked, ...masked],
      frame: prompt.frame,
      tokens: [...tokens, ...written.tokens],
      cuts,
    };
  }

  // Where the tokeniser sees other control tokens than the text shows, nothing is known for sure, and nothing is kept.
  #cuts(prompt: Rendered, tokens: readonly Token[]): Map<number, number> {
    const places = tokens.flatMap((token, index) => (this.#vocabulary.isControl(token) ? [index] : []));
    const unwritten = places.length - prompt.frame.length;
    const first = prompt.frame[0]?.start;
    if (unwritten !== 0 && !(unwritten === 1 && places[0] === 0)) return new Map();
    if (first === undefined) return new Map();
    return new Map(prompt.frame.map(({ start }, index) => [start, places[index + unwritten] ?? 0]));
  }
}

/** How far two prompts are the same, letter by letter and mask by mask. */
function sharedLength(a: Rendered, b: Rendered): number {
  const most = Math.min(a.text.length, b.text.length);
  let length = 0;
  while (length < most && a.text.charCodeAt(length) === b.text.charCodeAt(length)) length++;
  for (let index = 0; index < Math.max(a.masked.length, b.masked.length); index++) {
    const [inA, inB] = [a.masked[index] ?? Infinity, b.masked[index] ?? Infinity];
    if (inA !== inB) return Math.min(length, inA, inB);
  }
  return length;
}
