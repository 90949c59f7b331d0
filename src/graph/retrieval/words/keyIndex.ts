import { createYielder } from '../../../base/eventLoop.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { KnowledgeEntry, LoreRules } from '../../storage/knowledge/knowledge.ts';
import { defaultRules, secondaryLogic } from '../../storage/knowledge/knowledge.ts';
import { compilePatterns, patternOfKey } from '../../storage/patternSet.ts';
import { functionWords } from './functionWords.ts';
import { foldKey, keyWordsOf, splitPieces } from './splitWords.ts';
import { commonPart, isForm, isGerman } from './wordForms.ts';

/** Max words of a key, and characters of one with symbols, that are compared. */
const maxKeyWords = 16;
const maxSymbolKeyLength = 128;
const keysPerPause = 256;

interface Key {
  readonly entry: KnowledgeEntry;
  readonly rules: LoreRules;
  /** Its number among the secondary keys of the entry; undefined: it is none of them. */
  readonly secondary: number | undefined;
  /** Of a key that is a part of another one: all parts of that one. */
  readonly all?: ReadonlySet<string>;
  readonly part?: string;
  /** Its words or characters, upper and lower case as written. */
  readonly written: string;
}

/** Keys by what their forms have in common: a sequence of words, or of characters. */
class SequenceIndex {
  readonly #keys = new Map<string, Key[]>();
  readonly #lengths = new Set<number>();

  copyTo(other: SequenceIndex): void {
    for (const [common, keys] of this.#keys) other.#keys.set(common, [...keys]);
    for (const length of this.#lengths) other.#lengths.add(length);
  }

  add(common: string, length: number, key: Key): void {
    this.#lengths.add(length);
    const keys = this.#keys.get(common);
    if (keys) keys.push(key);
    else this.#keys.set(common, [key]);
  }

  /** Calls `visit` with the keys that may be in a query, once for each text. @param read what a part has of keys. */
  async find(
    count: number,
    read: Readonly<Record<'common' | 'written', (from: number, to: number) => string>>,
    visit: (key: Key, written: string) => void,
  ): Promise<void> {
    if (this.#keys.size === 0) return;
    const yieldToOthers = createYielder();
    const seen = new Set<string>();
    for (let from = 0; from < count; from++) {
      for (const length of this.#lengths) {
        const keys = from + length <= count ? this.#keys.get(read.common(from, from + length)) : undefined;
        const written = keys ? read.written(from, from + length) : '';
        if (!keys || seen.has(written)) continue;
        seen.add(written);
        for (const [visited, key] of keys.entries()) {
          visit(key, written);
          if (visited % keysPerPause === 0) await yieldToOthers();
        }
      }
      await yieldToOthers();
    }
  }
}

/** Whether a key is matched word by word; the others have symbols, and are matched as they are written. */
const isOfWords = (text: string): boolean => /^(?:[\p{L}\p{N}\p{M}]+[+#]*(?:[\s\p{Pd}'.,:]+|$))+$/u.test(text);

const oneSpace = (text: string): string => text.replaceAll(/\s+/g, ' ');
const lowerCase = (text: string): string => text.toLowerCase().replaceAll('ς', 'σ');
/** Begins a text that is a part of a longer word. */
const partMark = '\0';

/** The keys that bring entries: words, texts with symbols, patterns. It only grows; each state has a part. */
export class KeyIndex {
  readonly #words = new SequenceIndex();
  readonly #texts = new SequenceIndex();
  #patternKeys: Key[] = [];
  /** Those of the state that was searched last. */
  #patterns: { readonly keys: readonly Key[]; readonly list: readonly string[] } = { keys: [], list: [] };
  /** The keys of all entries. */
  size = 0;

  /** Another one with the same keys. */
  copy(): KeyIndex {
    const copy = new KeyIndex();
    this.#words.copyTo(copy.#words);
    this.#texts.copyTo(copy.#texts);
    copy.#patternKeys = [...this.#patternKeys];
    copy.#patterns = this.#patterns;
    copy.size = this.size;
    return copy;
  }

  add(entry: KnowledgeEntry): void {
    const { keys, rules = defaultRules } = entry;
    for (const key of keys) {
      const parts = rules.joinsKeys && !key.startsWith('/') ? key.split(' & ') : [key];
      const all = parts.length > 1 ? new Set(parts) : undefined;
      for (const part of parts) this.#add(part, { entry, rules, secondary: undefined, ...(all && { all, part }) });
    }
    for (const [secondary, key] of rules.secondary.entries()) this.#add(key, { entry, rules, secondary });
  }

  #add(text: string, key: Omit<Key, 'written'>): void {
    this.size++;
    const pattern = patternOfKey(text);
    if (pattern !== undefined) {
      this.#patternKeys.push({ ...key, written: pattern });
      return;
    }
    const folded = oneSpace(foldKey(text)).trim();
    if (folded === '') return;
    if (key.rules.partsOfWords || !isOfWords(folded)) {
      const written = folded.slice(0, maxSymbolKeyLength);
      this.#texts.add(lowerCase(written), written.length, { ...key, written });
      return;
    }
    const words = keyWordsOf(text).slice(0, maxKeyWords);
    while (words.at(-1) === '.') words.pop();
    // A point in a key need not be in the query.
    const plain = words.filter((word) => word !== '.');
    for (const variant of plain.length < words.length ? [words, plain] : [words])
      this.#words.add(variant.map(commonPart).join(' '), variant.length, { ...key, written: variant.join(' ') });
  }

  /**
   * @param messages the newest first.
   * @param depth of so many an entry is searched for, unless its rules say so.
   * @param positions the indexes of the entries with keys that are searched.
   * @returns the entries that have a key in it: those whose secondary keys let them come, and the others.
   * @throws Fault LIMIT_EXCEEDED for regular expressions that are too large together; the signal's reason.
   */
  async find(
    messages: readonly string[],
    depth: number,
    positions: ReadonlyMap<KnowledgeEntry, number>,
    signal: AbortSignal | undefined,
  ): Promise<Readonly<Record<'found' | 'refused', ReadonlySet<number>>>> {
    const found = new Map<KnowledgeEntry, LoreRules>();
    // What is found of the secondary keys of an entry, and of the parts of a key.
    const parts = new Map<unknown, Set<unknown>>();
    const addPart = (whole: unknown, part: unknown): number | undefined =>
      parts.set(whole, (parts.get(whole) ?? new Set()).add(part)).get(whole)?.size;
    for (const [message, text] of positions.size === 0 ? [] : messages.entries()) {
      const record = ({ entry, rules, secondary: number, all, part }: Key): void => {
        if (message >= (rules.depth ?? depth) || !positions.has(entry)) return;
        if (all && addPart(all, part) !== all.size) return;
        if (number === undefined) found.set(entry, rules);
        else addPart(entry, number);
      };
      await this.#findWords(text, record);
      await this.#findTexts(text, record);
      await this.#findPatterns(text, positions, record, signal);
      signal?.throwIfAborted();
    }
    const [allowed, refused] = [new Set<number>(), new Set<number>()];
    for (const [entry, rules] of found)
      (secondaryLogic(rules, parts.get(entry)?.size ?? 0) ? allowed : refused).add(positions.get(entry) ?? 0);
    return { found: allowed, refused };
  }

  async #findWords(text: string, record: (key: Key) => void): Promise<void> {
    const words = await splitPieces(text, keyWordsOf);
    const parts = words.map(commonPart);
    const inGerman = isGerman(words);
    const read = {
      common: (from: number, to: number) => parts.slice(from, to).join(' '),
      written: (from: number, to: number) => words.slice(from, to).join(' '),
    };
    await this.#words.find(words.length, read, (key, written) => {
      if (isSamePhrase(key, written, inGerman)) record(key);
    });
  }

  async #findTexts(text: string, record: (key: Key) => void): Promise<void> {
    const whole = oneSpace((await splitPieces(text, (piece) => [foldKey(piece)])).join(''));
    const lower = lowerCase(whole);
    const read = {
      common: (from: number, to: number) => lower.slice(from, to),
      written: (from: number, to: number) =>
        `${isInWord(lower, from) || isInWord(lower, to) ? partMark : ''}${whole.slice(from, to)}`,
    };
    await this.#texts.find(lower.length, read, (key, found) => {
      const { partsOfWords, isCaseSensitive } = key.rules;
      const written = found.replace(partMark, '');
      if ((partsOfWords || written === found) && (!isCaseSensitive || written === key.written)) record(key);
    });
  }

  async #findPatterns(
    text: string,
    positions: ReadonlyMap<KnowledgeEntry, number>,
    record: (key: Key) => void,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const keys = this.#patternKeys.filter(({ entry }) => positions.has(entry));
    if (keys.length === 0) return;
    const { keys: known } = this.#patterns;
    const isKnown = known.length === keys.length && keys.every((key, index) => key === known[index]);
    if (!isKnown) this.#patterns = { keys, list: keys.map(({ written }) => written) };
    const compiled = await compilePatterns(this.#patterns.list);
    if (!compiled.ok)
      throw new Fault('LIMIT_EXCEEDED', `the regular expressions among the keys: ${compiled.errors[0]?.message}`);
    const matching = new Set<number>();
    await compiled.value.match(text, signal, matching);
    for (const index of matching) {
      const key = keys[index];
      if (key) record(key);
    }
  }
}

/** Whether a word goes on at a place of a text. */
const isInWord = (text: string, at: number): boolean =>
  /[\p{L}\p{N}]$/u.test(text.slice(Math.max(0, at - 2), at)) && /^[\p{L}\p{N}]/u.test(text.slice(at, at + 2));

/** Whether words are those of a key, in any case and plural; function words only as they are written, with a capital. */
function isSamePhrase({ written: key, rules }: Key, written: string, inGerman: boolean): boolean {
  const [words, phrase] = [key.split(' '), written.split(' ')];
  const all = (isAlike: (word: string, other: string) => boolean): boolean =>
    words.every((word, index) => isAlike(word, phrase[index] ?? ''));
  if (!all((word, other) => isForm(word, other, inGerman))) return false;
  if (rules.isCaseSensitive && !all(isSameCase)) return false;
  const isFunction = (word: string): boolean => word === '.' || functionWords.has(word.toLowerCase());
  if (!words.every(isFunction) && !phrase.every(isFunction)) return true;
  return key === key.toLowerCase() ? /^\p{Lu}/u.test(written) && written.toLowerCase() === key : written === key;
}

/** Whether two forms of a word have the same upper and lower case, but for their endings. */
function isSameCase(one: string, other: string): boolean {
  const length = one.toLowerCase() === other.toLowerCase() ? one.length : commonPart(one).length;
  return one.slice(0, length) === other.slice(0, length);
}
