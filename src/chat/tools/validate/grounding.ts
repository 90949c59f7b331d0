import { foldText } from '../../../base/foldText.ts';
import { isJsonObject, JsonNumber, type JsonValue } from '../../json/value.ts';

/** What a user has said, tokenized for lookups. */
export interface UserMentions {
  /** The words of each message, case-folded. */
  readonly messages: readonly ReadonlySet<string>[];
  readonly numbers: ReadonlySet<number>;
  /** Dates as YYYY-MM-DD, or MM-DD where no year was said. */
  readonly dates: ReadonlySet<string>;
  /** Whether a day was named whose date depends on the current one: today, on Monday. */
  readonly relativeDay: boolean;
  /** Whether one thing was mentioned by its article: "an axe". */
  readonly oneThing: boolean;
}

/** Tokenizes what a user has said. Number words and names of months and days are those of English. */
export function collectMentions(messages: readonly string[]): UserMentions {
  const folded = newest(messages).map(fold);
  const allMessages = folded.join('\n');
  return {
    messages: folded.map((message) => new Set(wordsOf(message))),
    numbers: new Set(numbersIn(allMessages)),
    dates: new Set(datesIn(allMessages)),
    relativeDay: relativeDays.test(allMessages),
    oneThing: folded.some((message) => mentionsOneThing(wordsOf(message))),
  };
}

// In characters. Mentions are collected in one synchronous call.
const maxCharacters = 64 * 1024;

/** The newest messages that fit; of the newest one, which may not, its beginning. */
function newest(messages: readonly string[]): readonly string[] {
  let characters = 0;
  const first = messages.findLastIndex((message) => (characters += message.length) > maxCharacters) + 1;
  return first < messages.length
    ? messages.slice(first)
    : messages.slice(-1).map((text) => text.slice(0, maxCharacters));
}

/**
 * Grounding check: whether a value appears in what the user has said, to detect hallucinated arguments. Numbers and
 * dates are compared by value, strings by their words, all of them in one message. Booleans and null always pass: users
 * do not say them literally.
 * @param isCount whether the value is a number of things: then "an axe" mentions 1.
 */
export function isGrounded(value: JsonValue, mentions: UserMentions, isCount = false): boolean {
  if (value instanceof JsonNumber) {
    const number = Number(value.digits);
    return mentions.numbers.has(number) || (isCount && number === 1 && mentions.oneThing);
  }
  if (typeof value === 'string') return isMentioned(fold(value), mentions);
  if (isJsonObject(value)) return [...value.values()].every((member) => isGrounded(member, mentions));
  return !Array.isArray(value) || value.every((item: JsonValue) => isGrounded(item, mentions));
}

function isMentioned(text: string, { messages, numbers, dates, relativeDay }: UserMentions): boolean {
  const date = isoDate.exec(text);
  if (date) {
    const [, year = '', month = '', day = ''] = date;
    return relativeDay || dates.has(`${year}-${month}-${day}`) || dates.has(`${month}-${day}`);
  }
  if (isNumber.test(text)) return numbers.has(Number(text));
  const words = wordsOf(text);
  return messages.some((message) => words.every((word) => message.has(word)));
}

/** A number of a message: its possible values, the indices of its words, and the word after it. */
interface NumberMention {
  readonly values: readonly number[];
  readonly words: readonly number[];
  readonly unit?: string | undefined;
}

// Of a longer message, the words behind are free for all values.
const maxTakenCharacters = 4096;

export type SaidWords = ReturnType<typeof saidWords>;

/** The words of one message, numbers included, each of which fills one value only. */
export function saidWords(message: string) {
  const text = fold(message.slice(0, maxTakenCharacters));
  const found = [...text.matchAll(wordPattern)];
  const said = found.map(([word]) => word);
  const inDigits = [...text.matchAll(signedNumber)].map(({ 0: digits, index }): NumberMention => {
    const end = index + digits.length;
    const isPart = (word: RegExpExecArray): boolean => word.index < end && index < word.index + word[0].length;
    const [, unit] = /^[ \u00a0](\p{L}+)/u.exec(text.slice(end, end + 64)) ?? [];
    return { values: readingsOf(digits), words: found.flatMap((word, at) => (isPart(word) ? [at] : [])), unit };
  });
  // Those of fewer words first.
  const numbers = [...inDigits, ...numberPhrases(said)].toSorted((a, b) => a.words.length - b.words.length);
  const taken = new Set<number>();
  const units = new Set<string>();
  const takeNumber = (number: number): boolean => {
    const mentions = numbers.filter(({ values }) => values.includes(number));
    if (mentions.length === 0) return true;
    const free = mentions.find(({ words }) => !words.some((at) => taken.has(at)));
    for (const at of free?.words ?? []) taken.add(at);
    if (free?.unit !== undefined) units.add(free.unit);
    return free !== undefined;
  };
  const takeWords = (words: readonly string[]): boolean => {
    if (!words.every((word) => said.includes(word))) return true;
    const places = new Set<number>();
    for (const word of words) {
      const place = said.findIndex((other, at) => other === word && !taken.has(at) && !places.has(at));
      if (place < 0) return false;
      places.add(place);
    }
    for (const place of places) taken.add(place);
    return true;
  };
  /** Takes the words of a value. @returns whether they were free; what is not in the message needs none. */
  const take = (value: JsonValue): boolean => {
    if (isJsonObject(value)) return [...value.values()].every((member) => take(member));
    if (Array.isArray(value)) return value.every((item: JsonValue) => take(item));
    if (value instanceof JsonNumber) return takeNumber(Number(value.digits));
    if (typeof value !== 'string') return true;
    const folded = fold(value);
    return isNumber.test(folded) ? takeNumber(Number(folded)) : takeWords(wordsOf(folded));
  };
  /** Whether a value is the word after a number that was taken: the coins of "20 coins". */
  const isUnit = (value: JsonValue): boolean => typeof value === 'string' && units.has(fold(value));
  return { take, isUnit };
}

// Words of one number: "one thousand two hundred five".
const maxNumberWords = 5;

function* numberPhrases(words: readonly string[]): Generator<NumberMention> {
  for (const start of words.keys()) {
    const shorter = new Set<number>();
    for (let length = 1; length <= maxNumberWords && start + length <= words.length; length++) {
      const places = Array.from({ length }, (_, index) => start + index);
      const values = [...numbersInWords(words.slice(start, start + length))].filter((value) => !shorter.has(value));
      for (const value of values) shorter.add(value);
      if (values.length > 0) yield { values, words: places };
    }
  }
}

const fold = (text: string): string => foldText(text).toLowerCase();
const wordPattern = /[\p{L}\p{N}]+/gu;
const wordsOf = (text: string): string[] => text.match(wordPattern) ?? [];

const isNumber = /^[+-]?\d+(?:\.\d+)?$/;
const isoDate = /^(\d{4})-(\d{2})-(\d{2})(?:t.*)?$/;

// A hyphen after a letter or a digit is no sign: "2-3 apples", "gate-5".
const signedNumber = /(?:(?<![\p{L}\p{N}])[+-])?(?:\d+(?:[,.\u00a0]\d{3})+(?!\d)|\d+(?:[.,]\d+)?)/gu;

function* numbersIn(text: string): Generator<number> {
  for (const [digits] of text.matchAll(signedNumber)) yield* readingsOf(digits);
  yield* numbersInWords(wordsOf(text));
}

// A comma or a point may separate thousands or a fraction: both readings count.
const readingsOf = (digits: string): readonly number[] => [
  Number(digits.replaceAll(/[,.\u00a0]/g, '')),
  Number(digits.replace(',', '.').replaceAll('\u00a0', '')),
];

/** Whether a message refuses and says nothing else, in English: "No, thanks.", "Never mind!" */
export const isRefusal = (message: string): boolean => refusal.test(wordsOf(fold(message)).join(' '));

/** Whether a message agrees and says nothing else, in English: "Yes, please.", "That's right!" */
export const isAgreement = (message: string): boolean => agreement.test(wordsOf(fold(message)).join(' '));

const agreement =
  /^(?:(?:oh|well|please) )*(?:yes|yeah|yep|yup|sure|ok|okay|right|correct|exactly|of course|absolutely|definitely|do (?:it|that|so)|go ahead|please do|i do|i did|that(?: i)?s? (?:right|it|correct)|sounds good)(?: (?:thanks|thank you|please|it|that|is|s|do|i|did|right|correct|exactly|sure|of course|go ahead|yes))*$/;

const refusal =
  /^(?:(?:oh|no|nope|nah|well|please|actually|sorry) )*(?:no|nope|nah|never ?mind|forget (?:it|that|about it)|cancel|stop|leave it|not now|do not|don t)(?: (?:thanks|thank you|please|it|that|then|all|now))*$/;

const months = 'january february march april may june july august september october november december'.split(' ');
const monthPattern = months.map((month) => `${month.slice(0, 3)}(?:${month.slice(3)})?`).join('|');
const relativeDays =
  /\b(?:today|tonight|tomorrow|yesterday|now|(?:mon|tues|wednes|thurs|fri|satur|sun)day|next|in \w+ (?:day|week|month|year)s?)\b/;

const twoDigits = (digits: string): string => digits.padStart(2, '0');
const monthNumber = (name: string): string =>
  twoDigits(String(months.findIndex((month) => month.startsWith(name.slice(0, 3))) + 1));
const toDate = (year: string | undefined, month: string, day: string): string =>
  year ? `${year}-${twoDigits(month)}-${twoDigits(day)}` : `${twoDigits(month)}-${twoDigits(day)}`;

const dayThenMonth = new RegExp(
  `\\b(\\d{1,2})(?:st|nd|rd|th)?\\.? (?:of )?(${monthPattern})\\b\\.?,?(?: (\\d{4}))?`,
  'g',
);
const monthThenDay = new RegExp(`\\b(${monthPattern})\\.? (\\d{1,2})(?:st|nd|rd|th)?\\b,?(?: (\\d{4}))?`, 'g');

function* datesIn(text: string): Generator<string> {
  for (const [, year, month = '', day = ''] of text.matchAll(/\b(\d{4})-(\d{1,2})-(\d{1,2})\b/g))
    yield toDate(year, month, day);
  // Day or month first depends on the country: both readings count.
  for (const [, first = '', second = '', year] of text.matchAll(/\b(\d{1,2})[./](\d{1,2})[./]?(\d{4})?/g)) {
    yield toDate(year, first, second);
    yield toDate(year, second, first);
  }
  for (const [, day = '', month = '', year] of text.matchAll(dayThenMonth)) yield toDate(year, monthNumber(month), day);
  for (const [, month = '', day = '', year] of text.matchAll(monthThenDay)) yield toDate(year, monthNumber(month), day);
}

const units =
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
    ' ',
  );
const tens = 'twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const scales: ReadonlyMap<string, number> = new Map(
  Object.entries({ hundred: 100, thousand: 1000, million: 1_000_000, billion: 1_000_000_000 }),
);

const quantities: ReadonlyMap<string, number> = new Map(
  Object.entries({ single: 1, once: 1, both: 2, double: 2, twice: 2, triple: 3, thrice: 3 }),
);

/** Words for a group of things: "two dozen" are 24. */
const groups: ReadonlyMap<string, number> = new Map(Object.entries({ dozen: 12, couple: 2, pair: 2, pairs: 2 }));

/**
 * The numbers that English words may mean: "three hundred" is 3 and 300, "half a dozen" is 6. Both readings count where
 * there are two.
 * @param words case-folded, without punctuation: "twenty-five" is two words.
 */
export function* numbersInWords(words: readonly string[]): Generator<number> {
  for (const [index, word] of words.entries()) {
    yield* numbersFrom(words, index);
    const quantity = quantities.get(word);
    if (quantity !== undefined && !(word === 'once' && words[index - 1] === 'at')) yield quantity;
    yield* groupsAt(words, index);
  }
}

/** Whether one thing is mentioned by its article: "an axe"; not in "a few", "a bit" or "a hundred". */
export function mentionsOneThing(words: readonly string[]): boolean {
  return words.some((word, index) => {
    const next = words[index + 1];
    return (word === 'a' || word === 'an') && next !== undefined && !isNoThing(next);
  });
}

// Words that make another quantity, or none, of the article before them.
const noThings: ReadonlySet<string> = new Set('few bit lot little while moment number half third quarter'.split(' '));
const isNoThing = (word: string): boolean => noThings.has(word) || scales.has(word) || groups.has(word);

/** The values of the number that starts at an index, each longer reading after the shorter one: 2, 200, 203. */
function* numbersFrom(words: readonly string[], start: number): Generator<number> {
  const startsWithArticle = words[start] === 'a' && scales.has(words[start + 1] ?? '');
  let total = 0;
  let lastScale = Infinity;
  let current = startsWithArticle ? 1 : undefined;
  for (let index = startsWithArticle ? start + 1 : start; index < words.length; index++) {
    const word = words[index] ?? '';
    if (word === 'and' && total + (current ?? 0) >= 100 && smallNumber(words[index + 1] ?? '') !== undefined) continue;
    const scale = scales.get(word);
    const value = smallNumber(word);
    if (scale === 100 && current && current < 100) current *= 100;
    else if (scale !== undefined && scale > 100 && scale < lastScale && current)
      [total, current, lastScale] = [total + current * scale, 0, scale];
    else if (value !== undefined && hasRoomFor(value, current)) current = (current ?? 0) + value;
    else return;
    yield total + current;
  }
}

function smallNumber(word: string): number | undefined {
  if (units.includes(word)) return units.indexOf(word);
  return tens.includes(word) ? 20 + 10 * tens.indexOf(word) : undefined;
}

/** Whether a number below 100 may follow: "hundred five" and "twenty five", but not "five five" or "twenty twelve". */
function hasRoomFor(value: number, current: number | undefined): boolean {
  if (current === undefined) return true;
  if (value === 0) return false;
  return current % 100 === 0 || (current % 10 === 0 && current % 100 >= 20 && value < 10);
}

/** What a group at an index counts: "a dozen", "two dozen", "half a dozen". */
function* groupsAt(words: readonly string[], index: number): Generator<number> {
  const size = groups.get(words[index] ?? '');
  if (size === undefined) return;
  const [beforeLast, last] = [words[index - 2] ?? '', words[index - 1] ?? ''];
  const count = /^\d+$/.test(last) ? Number(last) : units.indexOf(last);
  if (last === 'half' || (beforeLast === 'half' && last === 'a')) yield size / 2;
  else yield Math.max(count, 1) * size;
}
