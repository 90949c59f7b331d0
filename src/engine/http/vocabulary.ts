import type { Token } from '../llama/tokenizer/token.ts';
import { ControlTokenMatcher } from '../llama/tokenizer/controlTokens.ts';
import type { LlamaServer, ServerProps } from './llamaServer.ts';

/** The vocabulary of a remote model, and which of its tokens are control tokens. */
export class Vocabulary {
  readonly controlTokens: ControlTokenMatcher;
  /** The BOS token that every prompt has to begin with, if the model wants one. */
  readonly bosToken: Token | undefined;
  /** Whether the tokenizer puts a space before each text. */
  readonly addsLeadingSpace: boolean;
  readonly #spellings: readonly string[];
  readonly #control: ReadonlySet<Token>;

  constructor(
    spellings: readonly string[],
    control: ReadonlySet<Token>,
    { bosToken, addsLeadingSpace }: Pick<Vocabulary, 'bosToken' | 'addsLeadingSpace'>,
  ) {
    this.#spellings = spellings;
    this.#control = control;
    this.bosToken = bosToken;
    this.addsLeadingSpace = addsLeadingSpace;
    this.controlTokens = new ControlTokenMatcher([...control].map((token) => this.spelling(token)));
  }

  isControl = (token: Token): boolean => this.#control.has(token);

  /** The spelling of a token; "" for a part of a character. */
  spelling(token: Token): string {
    return this.#spellings[token] ?? '';
  }

  /** The control token with a spelling. */
  controlToken(spelling: string): Token | undefined {
    return [...this.#control].find((token) => this.spelling(token) === spelling);
  }
}

/** Reads the vocabulary of the model of a server. @throws ServerFault */
export async function readVocabulary(
  server: LlamaServer,
  { bos, eos }: Pick<ServerProps, 'bos' | 'eos'>,
  signal: AbortSignal,
): Promise<Vocabulary> {
  const spellings = await server.vocabulary(signal);
  // A control token is one that a text has only where special tokens are read in it.
  const candidates = spellings.filter((text) => text === bos || text === eos || /[<>[\]|]/.test(text));
  const joined = [...new Set(candidates)].filter((text) => text.length > 1).join(separator);
  const [special, plain] = await Promise.all(
    [true, false].map((isSpecial) => server.tokenize(joined, { special: isSpecial, signal })),
  );
  const inPlain = new Set(plain);
  const control = new Set(((special ?? []) as readonly Token[]).filter((token) => !inPlain.has(token)));
  const [first] = await server.tokenize('', { special: false, bos: true, signal });
  const twice = spellings[(await server.tokenize('a', { special: false, signal }))[0] ?? -1] ?? '';
  return new Vocabulary(spellings, new Set([...control].filter((token) => (spellings[token] ?? '').length > 1)), {
    bosToken: first === undefined ? undefined : (first as Token),
    addsLeadingSpace: twice !== 'a' && twice.trimStart() !== twice,
  });
}

// A line break: no control string has one, and words end at it.
const separator = '\n';
