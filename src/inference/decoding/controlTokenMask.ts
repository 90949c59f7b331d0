import { Fault } from '../../protocol/fault.ts';

/**
 * Masks characters of messages with private-use characters (U+E000 to U+F8FF) while a chat template renders them, and
 * restores them in the output. Second step of the protection against special token injection; PromptRenderer describes
 * all of it. A mask and the character it hides are one UTF-16 unit each, so offsets stay valid.
 */
export class CharacterMask {
  readonly #unusedCharacters: Iterator<string>;
  readonly #maskByCharacter = new Map<string, string>();
  readonly #characterByMask = new Map<string, string>();

  /** @param texts everything that the template can output: only characters that do not occur in them become masks. */
  constructor(texts: readonly string[]) {
    this.#unusedCharacters = unusedPrivateCharacters(texts);
  }

  /**
   * A text with the UTF-16 units at some offsets masked; the same unit always gets the same mask.
   * @throws Fault INFERENCE_FAILED when the texts use all private-use characters.
   */
  mask(text: string, offsets: readonly number[]): string {
    const units = text.split('');
    for (const offset of offsets) units[offset] = this.#maskFor(text.charAt(offset));
    return units.join('');
  }

  /** The offsets of the masks in a text, ascending. */
  maskedOffsets(text: string): readonly number[] {
    if (this.#characterByMask.size === 0) return [];
    const candidates = [...text.matchAll(privateUsePattern)];
    return candidates.filter(([unit]) => this.#characterByMask.has(unit)).map(({ index }) => index);
  }

  /** A text with each mask replaced by the character that it hides. */
  unmask(text: string): string {
    if (this.#characterByMask.size === 0) return text;
    return text.replace(privateUsePattern, (unit) => this.#characterByMask.get(unit) ?? unit);
  }

  #maskFor(character: string): string {
    const known = this.#maskByCharacter.get(character);
    if (known !== undefined) return known;
    const next = this.#unusedCharacters.next();
    if (next.done)
      throw new Fault('INFERENCE_FAILED', 'the messages leave no private-use character unused: remove some');
    this.#maskByCharacter.set(character, next.value);
    this.#characterByMask.set(next.value, character);
    return next.value;
  }
}

const privateUsePattern = /[\uE000-\uF8FF]/g;

function* unusedPrivateCharacters(texts: readonly string[]): Generator<string, undefined> {
  const used = new Set(texts.flatMap((text) => text.match(privateUsePattern) ?? []));
  for (let code = 0xe000; code <= 0xf8ff; code++) {
    const unit = String.fromCharCode(code);
    if (!used.has(unit)) yield unit;
  }
}
