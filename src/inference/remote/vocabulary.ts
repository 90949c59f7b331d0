import type { Token } from '../decoding/tokenizer.ts';
import { ControlTokenMatcher } from '../decoding/controlTokens.ts';

/** The vocabulary of a remote model, and which of its tokens are control tokens. */
export class Vocabulary {
  readonly controlTokens: ControlTokenMatcher;
  /** The BOS token that every prompt has to begin with, if the model wants one. */
  readonly bosToken: Token | undefined;
  /** Whether the tokenizer puts a space before each text. */
  readonly addsLeadingSpace: boolean;
  /** Whether its tokens are those of the model; else they only stand for text. */
  readonly isExact: boolean;
  readonly #spelling: (token: Token) => string | undefined;
  readonly #control: ReadonlySet<Token>;

  /** @param spelling of a token, "" for a part of a character; undefined: it is not known. Those of control tokens are. */
  constructor(
    spelling: (token: Token) => string | undefined,
    control: ReadonlySet<Token>,
    {
      bosToken,
      addsLeadingSpace,
      isExact = true,
    }: Pick<Vocabulary, 'bosToken' | 'addsLeadingSpace'> & Partial<Pick<Vocabulary, 'isExact'>>,
  ) {
    this.#spelling = spelling;
    this.#control = control;
    this.bosToken = bosToken;
    this.addsLeadingSpace = addsLeadingSpace;
    this.isExact = isExact;
    this.controlTokens = new ControlTokenMatcher([...control].map((token) => this.controlSpelling(token)));
  }

  isControl = (token: Token): boolean => this.#control.has(token);

  controlSpelling(token: Token): string {
    return this.#spelling(token) ?? '';
  }

  /** The text of tokens; undefined: the spelling of one of them is not known. */
  text(tokens: readonly Token[]): string | undefined {
    const spellings = tokens.map((token) => this.#spelling(token));
    return spellings.includes(undefined) ? undefined : spellings.join('');
  }

  controlToken(spelling: string): Token | undefined {
    return [...this.#control].find((token) => this.#spelling(token) === spelling);
  }
}
