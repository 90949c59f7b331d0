import type { Token } from '../decoding/tokenizer.ts';
import { ControlTokenMatcher } from '../decoding/controlTokens.ts';

export type Vocabulary = ReturnType<typeof createVocabulary>;

interface VocabularyFacts {
  /** The BOS token that every prompt has to begin with, if the model wants one. */
  readonly bosToken: Token | undefined;
  /** Whether the tokenizer puts a space before each text. */
  readonly addsLeadingSpace: boolean;
  /** Whether its tokens are those of the model; else they only stand for text. */
  readonly isExact: boolean;
}

/**
 * The vocabulary of a remote model, and which of its tokens are control tokens.
 * @param spelling of a token, "" for a part of a character; undefined: it is not known. Those of control tokens are.
 */
export function createVocabulary(
  spelling: (token: Token) => string | undefined,
  control: ReadonlySet<Token>,
  facts: VocabularyFacts,
) {
  const controlSpelling = (token: Token): string => spelling(token) ?? '';
  return {
    ...facts,
    controlTokens: new ControlTokenMatcher([...control].map(controlSpelling)),
    isControl: (token: Token): boolean => control.has(token),
    controlSpelling,
    /** The text of tokens; undefined: the spelling of one of them is not known. */
    text(tokens: readonly Token[]): string | undefined {
      const spellings = tokens.map(spelling);
      return spellings.includes(undefined) ? undefined : spellings.join('');
    },
    controlToken: (text: string): Token | undefined => [...control].find((token) => spelling(token) === text),
  };
}
