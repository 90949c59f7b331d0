const tagPairs = [
  { open: '<think>', close: '</think>' },
  { open: '[THINK]', close: '[/THINK]' },
] as const;

const openingTags = tagPairs.map(({ open }) => open);

/** The texts that begin and end reasoning. */
export const reasoningTags: readonly string[] = tagPairs.flatMap(({ open, close }) => [open, close]);

/** The mark that a prompt ends with, when it has the model begin by reasoning; else "". */
export const openReasoningTag = (prompt: string): string =>
  openingTags.find((mark) => prompt.trimEnd().endsWith(mark)) ?? '';

/** Text of a model on its way out, what it reasons aloud set apart from what it says. */
export class ReasoningFilter {
  #pending = '';
  // The mark that ends the reasoning under way.
  #closing: string | undefined;
  #saying = false;
  #thought = '';

  /** What was reasoned so far. */
  get reasoning(): string {
    return this.#thought.trim();
  }

  /** Takes the next piece of text and gives what of it is said; what may yet become a mark is held back. */
  push(piece: string): string {
    this.#pending += piece;
    let said = '';
    for (;;) {
      const wanted = this.#closing === undefined ? openingTags : [this.#closing];
      const spans = findFirst(this.#pending, wanted);
      const end = spans?.at ?? this.#pending.length - possibleTagStart(this.#pending, wanted);
      said += this.#consume(end);
      if (!spans) return said;
      this.#pending = this.#pending.slice(spans.mark.length);
      this.#closing = this.#closing === undefined ? tagPairs.find(({ open }) => open === spans.mark)?.close : undefined;
    }
  }

  /** What was held back, when no more text comes. */
  flush(): string {
    return this.#consume(this.#pending.length);
  }

  // The blank lines between reasoning and answer belong to neither.
  #consume(end: number): string {
    const text = this.#pending.slice(0, end);
    this.#pending = this.#pending.slice(end);
    if (this.#closing !== undefined) {
      this.#thought += text;
      return '';
    }
    const said = this.#saying || this.#thought === '' ? text : text.trimStart();
    this.#saying ||= said !== '';
    return said;
  }
}

/** What a whole text says beside its reasoning. */
export function stripReasoning(text: string): string {
  const stream = new ReasoningFilter();
  return stream.push(text) + stream.flush();
}

function findFirst(
  text: string,
  wanted: readonly string[],
): { readonly at: number; readonly mark: string } | undefined {
  const [first] = wanted
    .map((mark) => ({ at: text.indexOf(mark), mark }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at);
  return first;
}

const possibleTagStart = (text: string, wanted: readonly string[]): number =>
  Math.max(0, ...wanted.map((mark) => longestPrefixAtEnd(text, mark)));

// How much of the end of a text is a beginning of the mark.
function longestPrefixAtEnd(text: string, mark: string): number {
  for (let length = Math.min(text.length, mark.length - 1); length > 0; length--) {
    if (text.endsWith(mark.slice(0, length))) return length;
  }
  return 0;
}
