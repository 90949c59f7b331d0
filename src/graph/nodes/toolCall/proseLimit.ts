import { StreamableText, type StreamableTextOptions } from '../../../chat/reply/malformed/streamableText.ts';

// A sentence may precede a call.
const maxCharacters = 80;

/** Ends a reply that goes on as prose: only whether it calls counts. */
export class ProseLimit {
  readonly #text: StreamableText;
  readonly #enough = new AbortController();
  #prose = '';

  constructor(options: StreamableTextOptions) {
    this.#text = new StreamableText(options);
  }

  /** Aborted when the reply has a line of prose, or a long sentence. */
  get signal(): AbortSignal {
    return this.#enough.signal;
  }

  /** Takes a piece of the reply. */
  push(piece: string): void {
    this.#prose += this.#text.push(piece);
    if (this.#prose.length > maxCharacters || this.#prose.includes('\n')) this.#enough.abort();
  }
}
