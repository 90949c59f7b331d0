const marks = [
  { open: '<think>', close: '</think>' },
  { open: '[THINK]', close: '[/THINK]' },
] as const;

const opening = marks.map(({ open }) => open);

/** The texts that begin and end reasoning. */
export const reasoningMarks: readonly string[] = marks.flatMap(({ open, close }) => [open, close]);

/** The mark that a prompt ends with, when it has the model begin by reasoning; else "". */
export const reasoningOpenedBy = (prompt: string): string =>
  opening.find((mark) => prompt.trimEnd().endsWith(mark)) ?? '';

/** Text of a model on its way out, what it reasons aloud set apart from what it says. */
export class ReasoningStream {
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
  pass(piece: string): string {
    this.#pending += piece;
    let said = '';
    for (;;) {
      const wanted = this.#closing === undefined ? opening : [this.#closing];
      const found = firstOf(this.#pending, wanted);
      const end = found?.at ?? this.#pending.length - heldBack(this.#pending, wanted);
      said += this.#take(end);
      if (!found) return said;
      this.#pending = this.#pending.slice(found.mark.length);
      this.#closing = this.#closing === undefined ? marks.find(({ open }) => open === found.mark)?.close : undefined;
    }
  }

  /** What was held back, when no more text comes. */
  rest(): string {
    return this.#take(this.#pending.length);
  }

  // The blank lines between reasoning and answer belong to neither.
  #take(end: number): string {
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
export function spokenIn(text: string): string {
  const stream = new ReasoningStream();
  return stream.pass(text) + stream.rest();
}

function firstOf(text: string, wanted: readonly string[]): { readonly at: number; readonly mark: string } | undefined {
  const [first] = wanted
    .map((mark) => ({ at: text.indexOf(mark), mark }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at);
  return first;
}

const heldBack = (text: string, wanted: readonly string[]): number =>
  Math.max(0, ...wanted.map((mark) => longestBeginning(text, mark)));

// How much of the end of a text is a beginning of the mark.
function longestBeginning(text: string, mark: string): number {
  for (let length = Math.min(text.length, mark.length - 1); length > 0; length--) {
    if (text.endsWith(mark.slice(0, length))) return length;
  }
  return 0;
}
