import { closingTagOf, openingTags } from './reasoningTags.ts';

/** The reasoning tag at the end of a prompt, with which its template makes the model start by reasoning; "" = none. */
export const openReasoningTag = (prompt: string): string =>
  openingTags.find((tag) => prompt.trimEnd().endsWith(tag)) ?? '';

/** Reasoning parser for streamed text: separates the reasoning (chain of thought) of a model from its answer. */
export class ReasoningFilter {
  /** Text that was received but not yet assigned, because it may end in a part of a tag. */
  #pending = '';
  /** The tag that ends the current reasoning; undefined: the text is part of the answer. */
  #closingTag: string | undefined;
  #hasAnswer = false;
  #reasoning = '';

  /** The reasoning so far. */
  get reasoning(): string {
    return this.#reasoning.trim();
  }

  /** Takes the next piece of text and returns the part of the answer in it; a possible start of a tag is held back. */
  push(piece: string): string {
    this.#pending += piece;
    let answer = '';
    for (;;) {
      const tags = this.#closingTag === undefined ? openingTags : [this.#closingTag];
      const match = findFirstTag(this.#pending, tags);
      const end = match?.index ?? this.#pending.length - partialTagLength(this.#pending, tags);
      answer += this.#consume(end);
      if (!match) return answer;
      this.#pending = this.#pending.slice(match.tag.length);
      this.#closingTag = this.#closingTag === undefined ? closingTagOf(match.tag) : undefined;
    }
  }

  /** Returns what was held back, at the end of the text. */
  flush(): string {
    return this.#consume(this.#pending.length);
  }

  // White space between reasoning and answer belongs to neither.
  #consume(end: number): string {
    const text = this.#pending.slice(0, end);
    this.#pending = this.#pending.slice(end);
    if (this.#closingTag !== undefined) {
      this.#reasoning += text;
      return '';
    }
    const answer = this.#hasAnswer || this.#reasoning === '' ? text : text.trimStart();
    this.#hasAnswer ||= answer !== '';
    return answer;
  }
}

/** A complete text without its reasoning. */
export function stripReasoning(text: string): string {
  const filter = new ReasoningFilter();
  return filter.push(text) + filter.flush();
}

function findFirstTag(
  text: string,
  tags: readonly string[],
): { readonly index: number; readonly tag: string } | undefined {
  const [first] = tags
    .map((tag) => ({ index: text.indexOf(tag), tag }))
    .filter(({ index }) => index >= 0)
    .sort((a, b) => a.index - b.index);
  return first;
}

const partialTagLength = (text: string, tags: readonly string[]): number =>
  Math.max(0, ...tags.map((tag) => longestPrefixAtEnd(text, tag)));

/** Length of the longest proper prefix of a tag with which a text ends. */
function longestPrefixAtEnd(text: string, tag: string): number {
  for (let length = Math.min(text.length, tag.length - 1); length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}
