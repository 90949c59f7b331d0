import { createYielder } from '../../../base/eventLoop.ts';
import { Fault } from '../../../protocol/fault.ts';
import { type KnowledgeEntry, type LoreRules, secondaryLogic } from '../../storage/knowledge/knowledge.ts';
import { compilePatterns, readPatternKey } from '../../storage/patternSet.ts';
import { functionWords } from './functionWords.ts';
import { foldLetters, keyWordsOf, splitPieces } from './splitWords.ts';
import { commonPart, isForm, isGerman } from './wordForms.ts';

/** What the keys of a storage say about a query. */
export interface KeyMatches {
  /** The entries that have a key in it, and whose secondary keys allow it. */
  readonly found: ReadonlySet<number>;
  /** The entries that have a key in it, and whose secondary keys forbid it. */
  readonly refused: ReadonlySet<number>;
}

/** Max words of a key, and characters of one with symbols, that are compared. */
const maxKeyWords = 16;
const maxSymbolKeyLength = 128;
const matchesPerPause = 256;

/** A key of an entry, and what is compared of it, upper and lower case as written. */
interface Key {
  readonly entry: number;
  readonly rules: LoreRules | undefined;
  /** Its number among the keys of its kind of the entry. */
  readonly number: number;
  readonly isSecondary: boolean;
  readonly words: string;
}

/** The messages back from the newest, from 0, in which an entry has a key, and each of its secondary keys. */
interface EntryMatches {
  first: number;
  readonly rules: LoreRules | undefined;
  readonly secondary: Map<number, number>;
}

/** Keys by a text of units: words, or characters. */
class UnitIndex {
  readonly #keys = new Map<string, Key[]>();
  readonly #lengths = new Set<number>();

  add(text: string, length: number, key: Key): void {
    this.#lengths.add(length);
    const keys = this.#keys.get(text);
    if (keys) keys.push(key);
    else this.#keys.set(text, [key]);
  }

  /** Calls `visit` with the keys that a query has from a unit to another one. */
  async find(
    count: number,
    textOf: (from: number, to: number) => string,
    visit: (key: Key, from: number, to: number) => void,
  ): Promise<void> {
    if (this.#keys.size === 0) return;
    const yieldToOthers = createYielder();
    for (let from = 0; from < count; from++) {
      for (const length of this.#lengths) {
        if (from + length > count) continue;
        for (const [visited, key] of (this.#keys.get(textOf(from, from + length)) ?? []).entries()) {
          visit(key, from, from + length);
          if (visited % matchesPerPause === 0) await yieldToOthers();
        }
      }
      await yieldToOthers();
    }
  }
}

/** Whether a key is matched word by word; the others have symbols, and are matched as they are written. */
const isOfWords = (text: string): boolean =>
  /^(?:[\p{L}\p{N}]+(?:[+#]+(?![\p{L}\p{N}]))?(?:[\s\p{Pd}'.,:]+|$))+$/u.test(text);

const foldKey = (text: string): string => foldLetters(text).replaceAll(/\s+/g, ' ').trim();
const lowerCase = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ');

/** The keys of entries: words, several in a row, texts with symbols, or regular expressions, whose appearance in a query brings an entry. */
export class KeyIndex {
  readonly #words = new UnitIndex();
  readonly #symbols = new UnitIndex();
  readonly #patterns: string[] = [];
  readonly #patternKeys: Key[] = [];
  #size = 0;

  /** The keys of all entries. */
  get size(): number {
    return this.#size;
  }

  add({ keys, rules }: KnowledgeEntry, entry: number): void {
    for (const [number, key] of keys.entries()) this.#add(key, { entry, rules, number, isSecondary: false });
    if (keys.length === 0) return;
    for (const [number, key] of (rules?.secondary ?? []).entries())
      this.#add(key, { entry, rules, number, isSecondary: true });
  }

  #add(text: string, key: Omit<Key, 'words'>): void {
    this.#size++;
    const pattern = readPatternKey(text);
    if (pattern.ok && pattern.value !== undefined) {
      this.#patterns.push(pattern.value);
      this.#patternKeys.push({ ...key, words: '' });
      return;
    }
    const folded = foldKey(text);
    if (folded === '') return;
    if (key.rules?.partsOfWords || !isOfWords(folded)) {
      const written = folded.slice(0, maxSymbolKeyLength);
      this.#symbols.add(lowerCase(written), written.length, { ...key, words: written });
    } else this.#addWords(keyWordsOf(text).slice(0, maxKeyWords), key);
  }

  /** A point in a key need not be in the query. */
  #addWords(written: readonly string[], key: Omit<Key, 'words'>): void {
    const words = written.at(-1) === '.' ? written.slice(0, -1) : written;
    const plain = words.filter((word) => word !== '.');
    for (const variant of plain.length < words.length ? [words, plain] : [words])
      this.#words.add(variant.map(commonPart).join(' '), variant.length, { ...key, words: variant.join(' ') });
  }

  /**
   * @param messages the newest first.
   * @param depth of so many an entry is searched for, unless its rules say so.
   * @throws Fault LIMIT_EXCEEDED for regular expressions that are too large together; the signal's reason.
   */
  async find(messages: readonly string[], depth: number, signal: AbortSignal | undefined): Promise<KeyMatches> {
    const matches = new Map<number, EntryMatches>();
    if (this.#size > 0)
      for (const [message, text] of messages.entries()) {
        const record = ({ entry, rules, isSecondary, number }: Key): void => {
          if (message >= (rules?.depth ?? depth)) return;
          const known = matches.get(entry) ?? { first: Infinity, rules, secondary: new Map<number, number>() };
          if (!isSecondary) known.first = Math.min(known.first, message);
          else if (!known.secondary.has(number)) known.secondary.set(number, message);
          matches.set(entry, known);
        };
        await this.#findWords(text, record);
        await this.#findSymbols(text, record);
        await this.#findPatterns(text, record, signal);
        signal?.throwIfAborted();
      }
    const withKey = [...matches].filter(([, { first }]) => first < Infinity);
    const isAllowed = ({ rules, secondary }: EntryMatches): boolean => !rules || secondaryLogic(rules, secondary.size);
    return {
      found: new Set(withKey.filter(([, match]) => isAllowed(match)).map(([entry]) => entry)),
      refused: new Set(withKey.filter(([, match]) => !isAllowed(match)).map(([entry]) => entry)),
    };
  }

  async #findWords(text: string, record: (key: Key) => void): Promise<void> {
    const words = await splitPieces(text, keyWordsOf);
    const parts = words.map(commonPart);
    const inGerman = isGerman(words);
    const compared = new Map<Key, Set<string>>();
    await this.#words.find(
      words.length,
      (from, to) => parts.slice(from, to).join(' '),
      (key, from, to) => {
        const phrase = words.slice(from, to);
        const seen = compared.get(key) ?? new Set();
        const written = phrase.join(' ');
        if (seen.has(written)) return;
        compared.set(key, seen.add(written));
        if (isSamePhrase(key, phrase, inGerman)) record(key);
      },
    );
  }

  async #findSymbols(text: string, record: (key: Key) => void): Promise<void> {
    const written = (await splitPieces(text, (piece) => [foldLetters(piece)])).join('').replaceAll(/\s+/g, ' ');
    const lower = lowerCase(written);
    await this.#symbols.find(
      lower.length,
      (from, to) => lower.slice(from, to),
      (key, from, to) => {
        const isWhole = key.rules?.partsOfWords || !(isWordAt(lower, from) || isWordAt(lower, to));
        if (isWhole && (!key.rules?.isCaseSensitive || written.slice(from, to) === key.words)) record(key);
      },
    );
  }

  async #findPatterns(text: string, record: (key: Key) => void, signal: AbortSignal | undefined): Promise<void> {
    if (this.#patterns.length === 0) return;
    const compiled = await compilePatterns(this.#patterns);
    if (!compiled.ok)
      throw new Fault('LIMIT_EXCEEDED', `the regular expressions among the keys: ${compiled.errors[0]?.message}`);
    for (const index of await compiled.value.matchEach(text, signal)) {
      const key = this.#patternKeys[index];
      if (key) record(key);
    }
  }
}

/** Whether a word goes on from before a place to behind it. */
const isWordAt = (text: string, at: number): boolean =>
  /[\p{L}\p{N}]$/u.test(text.slice(Math.max(0, at - 2), at)) && /^[\p{L}\p{N}]/u.test(text.slice(at, at + 2));

/** Whether words are those of a key, in any case and plural; function words only as they are written, with a capital. */
function isSamePhrase({ words: key, rules }: Key, phrase: readonly string[], inGerman: boolean): boolean {
  const words = key.split(' ');
  if (!words.every((word, index) => isForm(word, phrase[index] ?? '', inGerman))) return false;
  if (rules?.isCaseSensitive && !words.every((word, index) => isSameCase(word, phrase[index] ?? ''))) return false;
  const isFunction = (word: string): boolean => word === '.' || functionWords.has(word.toLowerCase());
  if (!words.every(isFunction) && !phrase.every(isFunction)) return true;
  const written = phrase.join(' ');
  return key === key.toLowerCase() ? /^\p{Lu}/u.test(written) && written.toLowerCase() === key : written === key;
}

/** Whether two forms of a word have the same upper and lower case, but for their endings. */
function isSameCase(one: string, other: string): boolean {
  const isSameWord = one.toLowerCase() === other.toLowerCase();
  const length = isSameWord ? one.length : commonPart(one).length;
  return one.slice(0, length) === other.slice(0, length);
}
