import { numbersInWords } from '../../chat/tools/validate/grounding.ts';
import { functionWords, setOf } from '../retrieval/words/functionWords.ts';
import { splitWords, wordStem } from '../retrieval/words/splitWords.ts';

/** Words with which a fact says whom it is about, and that something was said. */
const reportingWords = setOf(
  'user player speaker character assistant person name named call called say says said told asked',
);

/** A line that was said or done, and who said it. */
export interface FactSource {
  readonly who: 'user' | 'character';
  readonly text: string;
  /** Whether it is of the turns that facts are looked for in; the others are there for what they refer to. */
  readonly isNew: boolean;
}

/**
 * Tells who has said each term of a fact: the user, where it said all. undefined: it was not said, or is one word. Facts may
 * be made of the words that were said, not asked. English function words and reporting words are free.
 */
export function speakerFinder(lines: readonly FactSource[]): (fact: string) => FactSource['who'] | undefined {
  const termsIn = (some: readonly FactSource[]): ReadonlySet<string> =>
    new Set(some.flatMap(({ text }) => [...termsOf(withoutQuestions(text))]));
  const ofAll = termsIn(lines);
  const ofNew = termsIn(lines.filter(({ isNew }) => isNew));
  const ofUser = termsIn(lines.filter(({ who }) => who === 'user'));
  return (fact) => {
    const terms = [...termsOf(fact)];
    if (!terms.every((term) => ofAll.has(term)) || !terms.some((term) => ofNew.has(term))) return undefined;
    if (terms.every((term) => ofUser.has(term))) return 'user';
    return terms.length > 1 ? 'character' : undefined;
  };
}

const withoutQuestions = (text: string): string =>
  (text.match(/[^.!?。！？\n]+[.!?。！？\n]*/gu) ?? []).filter((sentence) => !/[?？]/u.test(sentence)).join('');

/** The terms of a text: stems of words that say something, and numbers by value. */
function termsOf(text: string): ReadonlySet<string> {
  const words = splitWords(text);
  const terms = words.filter((word) => !functionWords.has(word) && !reportingWords.has(word));
  const isNumber = (word: string): boolean => /^\d+$/.test(word) || !numbersInWords([word]).next().done;
  return new Set([
    ...terms.filter((word) => !isNumber(word)).map(wordStem),
    ...[...numbersInWords(words), ...terms.filter((word) => /^\d+$/.test(word)).map(Number)].map(String),
  ]);
}

/** Whether a fact is about what another one says: it has at least half of its terms. */
export function isAbout(fact: string, other: string): boolean {
  const [terms, others] = [termsOf(fact), [...termsOf(other)]];
  return 2 * others.filter((term) => terms.has(term)).length >= others.length;
}

/** Whether two facts say the same, whatever their function words are. */
export function isSameFact(one: string, other: string): boolean {
  const [terms, others] = [termsOf(one), termsOf(other)];
  return terms.size === others.size && [...terms].every((term) => others.has(term));
}
