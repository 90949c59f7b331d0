import { mentionsOneThing, numbersInWords } from './numberWords.ts';
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
  if (Array.isArray(value)) return value.every((item: JsonValue) => isGrounded(item, mentions));
  return true;
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

const fold = (text: string): string => text.normalize('NFKC').toLowerCase();
const wordsOf = (text: string): string[] => text.match(/[\p{L}\p{N}]+/gu) ?? [];

const isNumber = /^[+-]?\d+(?:\.\d+)?$/;
const isoDate = /^(\d{4})-(\d{2})-(\d{2})(?:t.*)?$/;

// A hyphen after a letter or a digit is no sign: "2-3 apples", "gate-5".
const signedNumber = /(?:(?<![\p{L}\p{N}])[+-])?(?:\d+(?:[,.\u00a0]\d{3})+(?!\d)|\d+(?:[.,]\d+)?)/gu;

function* numbersIn(text: string): Generator<number> {
  for (const [digits] of text.matchAll(signedNumber)) {
    // A comma or a point may separate thousands or a fraction: both readings count.
    yield Number(digits.replaceAll(/[,.\u00a0]/g, ''));
    yield Number(digits.replace(',', '.').replaceAll('\u00a0', ''));
  }
  yield* numbersInWords(wordsOf(text));
}

const months = 'january february march april may june july august september october november december'.split(' ');
const monthPattern = months.map((month) => `${month.slice(0, 3)}(?:${month.slice(3)})?`).join('|');
const relativeDays =
  /\b(?:today|tonight|tomorrow|yesterday|now|(?:mon|tues|wednes|thurs|fri|satur|sun)day|next|in \w+ (?:day|week|month|year)s?)\b/;

const twoDigits = (digits: string): string => digits.padStart(2, '0');
const monthNumber = (name: string): string =>
  twoDigits(String(months.findIndex((month) => month.startsWith(name.slice(0, 3))) + 1));
const toDate = (year: string | undefined, month: string, day: string): string =>
  year ? `${year}-${twoDigits(month)}-${twoDigits(day)}` : `${twoDigits(month)}-${twoDigits(day)}`;

function* datesIn(text: string): Generator<string> {
  for (const [, year, month = '', day = ''] of text.matchAll(/\b(\d{4})-(\d{1,2})-(\d{1,2})\b/g))
    yield toDate(year, month, day);
  // Day or month first depends on the country: both readings count.
  for (const [, first = '', second = '', year] of text.matchAll(/\b(\d{1,2})[./](\d{1,2})[./]?(\d{4})?/g)) {
    yield toDate(year, first, second);
    yield toDate(year, second, first);
  }
  const dayThenMonth = new RegExp(
    `\\b(\\d{1,2})(?:st|nd|rd|th)?\\.? (?:of )?(${monthPattern})\\b\\.?,?(?: (\\d{4}))?`,
    'g',
  );
  for (const [, day = '', month = '', year] of text.matchAll(dayThenMonth)) yield toDate(year, monthNumber(month), day);
  const monthThenDay = new RegExp(`\\b(${monthPattern})\\.? (\\d{1,2})(?:st|nd|rd|th)?\\b,?(?: (\\d{4}))?`, 'g');
  for (const [, month = '', day = '', year] of text.matchAll(monthThenDay)) yield toDate(year, monthNumber(month), day);
}
