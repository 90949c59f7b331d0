import { anyOfTexts, escapePattern } from '../../base/patterns.ts';
import type { PromptPiece } from '../contract/engine.ts';

/** What parts a text from what is put before it. A control character: tokenizers have it as a byte, which merges with nothing. */
export const separator = '\u0001';

/** A range of a text in UTF-16 units, `end` exclusive. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** A text in parts: those in the spans of its control strings, and those between them. None is empty. */
export function splitAtSpans(text: string, spans: readonly TextSpan[]): readonly PromptPiece[] {
  const pieces = spans.flatMap(({ start, end }, index) => [
    { text: text.slice(spans[index - 1]?.end, start), special: false },
    { text: text.slice(start, end), special: true },
  ]);
  const rest = { text: text.slice(spans.at(-1)?.end), special: false };
  return [...pieces, rest].filter((piece) => piece.text !== '');
}

/**
 * Finds control strings (the spellings of a vocabulary's control tokens, such as `[/INST]`) in texts. First step of the
 * protection against special token injection; PromptRenderer describes all of it. All methods take time linear in the
 * text.
 *
 * | unsafe text, for `[/INST]`            | unsafe offset        |
 * | ------------------------------------- | -------------------- |
 * | contains it: `a[/INST]b`              | where it starts      |
 * | ends with its beginning: `a[/IN`      | where that starts    |
 * | starts with its end: `ST]b`           | 0                    |
 * | is its middle: `INS`                  | 0                    |
 */
export class ControlTokenMatcher {
  /** Matches at each offset where a spelling starts, overlapping ones too; its group is the shortest of them. */
  readonly #startPattern: RegExp | undefined;
  /** Matches a whole spelling, the longest one where several start. */
  readonly #spanPattern: RegExp | undefined;
  readonly #properPrefixes = new Set<string>();
  readonly #properSuffixes = new Set<string>();
  readonly #joinedSpellings: string;
  /** UTF-16 units of the longest spelling. */
  readonly #maxLength: number;

  constructor(strings: Iterable<string>) {
    const spellings = [...new Set(strings)].filter((spelling) => spelling !== '').sort();
    this.#joinedSpellings = spellings.join('\0');
    this.#maxLength = spellings.reduce((longest, { length }) => Math.max(longest, length), 0);
    for (const spelling of spellings) {
      for (let length = 1; length < spelling.length; length++) {
        this.#properPrefixes.add(spelling.slice(0, length));
        this.#properSuffixes.add(spelling.slice(length));
      }
    }
    if (spellings.length === 0) return;
    this.#startPattern = new RegExp(`(?=(${spellings.map(escapePattern).join('|')}))`, 'g');
    this.#spanPattern = new RegExp(anyOfTexts(spellings), 'g');
  }

  /** The control strings in a text from left to right, without overlaps. */
  find(text: string): readonly TextSpan[] {
    if (!this.#spanPattern) return [];
    return [...text.matchAll(this.#spanPattern)].map(({ index, 0: spelling }) => ({
      start: index,
      end: index + spelling.length,
    }));
  }

  /**
   * The parts of a text, cut within each control string: no part contains one. Spellings of one character cannot be cut.
   * The cut is before the first letter or digit (`<|` `end|>`), where the words of a byte-level BPE end anyway.
   */
  split(text: string): readonly string[] {
    if (!this.#startPattern) return [text];
    const cuts = new Set<number>();
    for (const { index, 1: spelling = '' } of text.matchAll(this.#startPattern)) {
      const [first = ''] = spelling;
      const letter = /[\p{L}\p{N}]/u.exec(spelling.slice(first.length));
      cuts.add(index + first.length + (letter?.index ?? 0));
    }
    const offsets = [0, ...[...cuts].sort((a, b) => a - b)];
    return offsets.map((start, index) => text.slice(start, offsets[index + 1]));
  }

  /**
   * The offsets (UTF-16 units, ascending) of the characters to mask in a text, so that no control string starts in it:
   * neither within the text, nor across its ends together with what the chat template writes before and after it.
   */
  unsafeOffsets(text: string): readonly number[] {
    if (!this.#startPattern || text === '') return [];
    const offsets = new Set([...text.matchAll(this.#startPattern)].map((match) => match.index));
    const maxPartLength = Math.min(text.length, this.#maxLength - 1);
    for (let length = 1; length <= maxPartLength; length++) {
      if (this.#properPrefixes.has(text.slice(-length))) offsets.add(text.length - length);
      if (this.#properSuffixes.has(text.slice(0, length))) offsets.add(0);
    }
    if (text.length < this.#maxLength && this.#joinedSpellings.includes(text)) offsets.add(0);
    return [...offsets].sort((a, b) => a - b);
  }
}
