import { Fault } from '../../../fault.ts';

/** Letters of texts hidden behind private-use characters on their way through a chat template, and found again behind it. */
export class CharacterMask {
  readonly #unused: Iterator<string>;
  readonly #masks = new Map<string, string>();
  readonly #letters = new Map<string, string>();

  /** The texts are all that stands in the result: a character in one of them cannot serve as a mask. */
  constructor(texts: readonly string[]) {
    this.#unused = unusedCharacters(texts);
  }

  /** A text with the letters (UTF-16 units) at some places hidden. */
  mask(text: string, places: readonly number[]): string {
    const units = text.split('');
    for (const slot of places) units[slot] = this.#maskOf(text.charAt(slot));
    return units.join('');
  }

  /** Where the hidden letters stand in a text. */
  maskedOffsets(text: string): readonly number[] {
    if (this.#letters.size === 0) return [];
    const candidates = [...text.matchAll(privateUse)];
    return candidates.filter(([unit]) => this.#letters.has(unit)).map(({ index }) => index);
  }

  /** A text with its hidden letters back in their places. */
  unmask(text: string): string {
    return this.#letters.size === 0 ? text : text.replace(privateUse, (unit) => this.#letters.get(unit) ?? unit);
  }

  #maskOf(letter: string): string {
    const known = this.#masks.get(letter);
    if (known !== undefined) return known;
    const next = this.#unused.next();
    if (next.done)
      throw new Fault('INFERENCE_FAILED', 'the messages leave no private-use character unused: remove some');
    this.#masks.set(letter, next.value);
    this.#letters.set(next.value, letter);
    return next.value;
  }
}

const privateUse = /[\uE000-\uF8FF]/g;

function* unusedCharacters(texts: readonly string[]): Generator<string, undefined> {
  const used = new Set(texts.flatMap((text) => text.match(privateUse) ?? []));
  for (let code = 0xe000; code <= 0xf8ff; code++) {
    const unit = String.fromCharCode(code);
    if (!used.has(unit)) yield unit;
  }
}
