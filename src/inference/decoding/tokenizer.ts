import type { LlamaModel, Token } from 'node-llama-cpp';
import { createYielder } from '../../base/eventLoop.ts';
import { defaultReplyMarks, type ReplyMarks, tagsOf } from '../../chat/replyMarks.ts';
import { ControlTokenMatcher, separator } from './controlTokens.ts';
import { type TextPiece, textSplitter } from './textSplitter.ts';

/** A token of a vocabulary: a number that is nothing else. */
export type { Token } from 'node-llama-cpp';

/**
 * A model's tokenizer and detokenizer, with its control tokens: tokens that steer the model and are no text.
 *
 * | in llama.cpp                 | in the file  | is a control token | found by llama.cpp in plain text      |
 * | ---------------------------- | ------------ | ------------------ | ------------------------------------- |
 * | control, unknown             | any          | yes                | where words merge to it (*)           |
 * | normal (`</s>` of Gemma 4)   | control      | yes                | where words merge to it (*)           |
 * | user-defined (`<|channel|>`) | another type | yes                | always (*)                            |
 * | user-defined (`<tool_call>`) | user-defined | no                 | as by the model's own tokenizer       |
 *
 * (*) Prevented here: plain text has no control token.
 */
export class Tokenizer {
  readonly controlTokens: ControlTokenMatcher;
  /** The token (BOS) that every prompt has to begin with, if the model wants one. */
  readonly bosToken: Token | undefined;
  readonly #model: LlamaModel;
  readonly #controlTokens: ReadonlySet<Token>;
  /** Tokens that mark the parts of a reply. */
  readonly #markTokens: ReadonlySet<Token>;
  /** Whether the tokenizer puts a space before each text (SentencePiece's `add_dummy_prefix`). */
  readonly #addsLeadingSpace: boolean;
  readonly #splitter: ReturnType<typeof textSplitter>;
  /** For plain texts, in which control strings are text: a cut after one would add a space to the text. */
  readonly #plainSplitter: ReturnType<typeof textSplitter>;
  #endTokens: readonly Token[] | undefined;

  constructor(model: LlamaModel, replyMarks: ReplyMarks = defaultReplyMarks) {
    this.#model = model;
    // Spellings as the file has them: these are what llama.cpp searches for in a text.
    const { tokens: spellings, ...ggml } = model.fileInfo.metadata.tokenizer.ggml;
    const fileTypes: readonly number[] | undefined = ggml.token_type;
    const controlTokens = new Set<Token>();
    const lookedUpTokens = new Set<Token>();
    const userDefinedTokens = new Set<Token>();
    for (const token of model.iterateAllTokens()) {
      const { control, unknown, userDefined } = model.getTokenAttributes(token);
      const fileType = fileTypes?.[token];
      const isRetyped = fileType === tokenTypes.control || (userDefined && fileType !== tokenTypes.userDefined);
      if (control || unknown || isRetyped) controlTokens.add(token);
      else if (userDefined) userDefinedTokens.add(token);
      if (control || unknown || userDefined) lookedUpTokens.add(token);
    }
    this.#controlTokens = controlTokens;
    const tags = tagsOf(replyMarks);
    this.#markTokens = new Set(
      [...lookedUpTokens].filter((token) => tags.some((tag) => isPartOf(tag, spellings[token] ?? ''))),
    );
    this.controlTokens = new ControlTokenMatcher([...this.#controlTokens].map((token) => spellings[token] ?? ''));
    this.#addsLeadingSpace = this.detokenize(this.tokenizePlain('a'), this.tokenizePlain('a'), false) !== 'a';
    const splitter = (lookedUp: ReadonlySet<Token>) =>
      textSplitter({
        lookedUp: spellings.filter((_, index) => lookedUp.has(index as Token)),
        words: spellings.filter((_, index) => !lookedUp.has(index as Token)),
        addsLeadingSpace: this.#addsLeadingSpace,
      });
    this.#splitter = splitter(lookedUpTokens);
    this.#plainSplitter = splitter(userDefinedTokens);
    this.bosToken = model.tokens.shouldPrependBosToken ? (model.tokens.bos ?? undefined) : undefined;
  }

  /** Whether a spelling is one control token, one other token (word), or several tokens (letters). */
  tokenKind(spelling: string): 'control' | 'word' | 'letters' {
    const token = this.#model.fileInfo.metadata.tokenizer.ggml.tokens.indexOf(spelling);
    if (token < 0) return 'letters';
    return this.isControl(token as Token) ? 'control' : 'word';
  }

  isControl(token: Token): boolean {
    return this.#controlTokens.has(token);
  }

  controlSpelling(token: Token): string {
    return this.detokenize([token], [], true);
  }

  /** The control token with a spelling; undefined: there is none. */
  controlToken(spelling: string): Token | undefined {
    const [token, ...more] = this.tokenizeWithControl(spelling);
    return token !== undefined && more.length === 0 && this.isControl(token) ? token : undefined;
  }

  /** The tokens of a text whose control strings become control tokens. */
  tokenizeWithControl(text: string): Token[] {
    return this.#model.tokenize(text, true);
  }

  /** The tokens of a text as plain text: control strings in it are text, too. */
  tokenizePlain(text: string): Token[] {
    return this.#tokenizePiece({ text, continuesWord: false }, false);
  }

  /**
   * The tokens of a text in pieces, so that a caller can yield to the event loop between them.
   * @param withControl whether its control strings become control tokens.
   */
  *tokenizeInPieces(text: string, withControl: boolean): Generator<readonly Token[]> {
    const splitter = withControl ? this.#splitter : this.#plainSplitter;
    for (const piece of splitter(text)) yield this.#tokenizePiece(piece, withControl);
  }

  /**
   * The number of tokens of a plain text; yields to the event loop meanwhile.
   * @param atMost counting ends above it: the result is then any number above it.
   */
  async count(text: string, atMost: number): Promise<number> {
    const yieldToOthers = createYielder();
    let count = 0;
    for (const tokens of this.tokenizeInPieces(text, false)) {
      count += tokens.length;
      if (count > atMost) break;
      await yieldToOthers();
    }
    return count;
  }

  /**
   * The tokens of a text that continues another one: without the leading space of a first text.
   * @param withControl whether its control strings become control tokens; default: it is plain text.
   */
  tokenizeContinuation(text: string, withControl = false): Token[] {
    return this.#tokenizePiece({ text, continuesWord: true }, withControl);
  }

  /**
   * Whether generation ends with a token. The end of a message within a reply is none: llama.cpp's library takes it for
   * one, because it also ends the messages of users.
   */
  endsGeneration(token: Token): boolean {
    return this.#model.isEogToken(token) && !this.#markTokens.has(token);
  }

  get endTokens(): readonly Token[] {
    return (this.#endTokens ??= [...this.#model.iterateAllTokens()].filter((token) => this.endsGeneration(token)));
  }

  /**
   * The text of tokens.
   * @param precedingTokens the tokens before them, which decide on a leading space.
   * @param shown whether control tokens appear as their spelling, or which of them; those in the marks of a reply always do.
   */
  detokenize(tokens: readonly Token[], precedingTokens: readonly Token[], shown: boolean | ReadonlySet<Token>): string {
    const isShown = (token: Token): boolean =>
      this.#markTokens.has(token) || (typeof shown !== 'boolean' && shown.has(token));
    return this.#model.detokenize(tokens, shown === true || tokens.some(isShown), precedingTokens);
  }

  controlTokensOf(spellings: readonly string[]): ReadonlySet<Token> {
    const { tokens } = this.#model.fileInfo.metadata.tokenizer.ggml;
    return new Set([...this.#controlTokens].filter((token) => spellings.includes(tokens[token] ?? '')));
  }

  #tokenizePiece(piece: TextPiece, withControl: boolean): Token[] {
    const tokens = this.#tokenizeWhole(piece, withControl);
    if (withControl || !tokens.some((token) => this.#controlTokens.has(token))) return tokens;
    const parts = this.controlTokens.split(piece.text);
    if (parts.length === 1) return tokens;
    return (
      this.#tokenizeJoined(parts, piece.continuesWord) ??
      parts.flatMap((text, index) =>
        this.#tokenizeWhole({ text, continuesWord: piece.continuesWord || index > 0 }, false),
      )
    );
  }

  /**
   * The tokens of the parts of a plain text in one call of llama.cpp, which takes a millisecond to start: the parts are
   * joined by separators, whose tokens are then left out.
   * @returns undefined: the separator is not always a token of its own.
   */
  #tokenizeJoined(parts: readonly string[], continuesWord: boolean): Token[] | undefined {
    const separatorToken = this.#model.tokenize(separator, false).at(-1);
    const tokens = this.#tokenizeWhole({ text: parts.join(separator), continuesWord }, false);
    const found = tokens.flatMap((token, index) => (token === separatorToken ? [index] : []));
    // A part can contain the separator, too.
    const inserted = new Set<number | undefined>();
    let count = 0;
    for (const part of parts) {
      count += part.split(separator).length;
      inserted.add(found[count - 1]);
    }
    return found.length === count - 1 ? tokens.filter((_, index) => !inserted.has(index)) : undefined;
  }

  #tokenizeWhole({ text, continuesWord }: TextPiece, withControl: boolean): Token[] {
    if (!continuesWord || !this.#addsLeadingSpace) return this.#model.tokenize(text, withControl);
    // The tokenizer puts its space before the separator, whose tokens are then left out. Not node-llama-cpp's
    // 'trimLeadingSpace', which keeps the space before a text that starts with a line break.
    const separatorTokens = this.#model.tokenize(separator, false);
    const tokens = this.#model.tokenize(separator + text, withControl);
    const isKept = separatorTokens.every((token, index) => tokens[index] === token);
    return isKept ? tokens.slice(separatorTokens.length) : this.#model.tokenize(text, withControl);
  }
}

/** Numbers of `tokenizer.ggml.token_type` in a GGUF file. */
const tokenTypes = { control: 3, userDefined: 4 } as const;

// A mark can be longer than a control token: `<|channel>thought`.
const isPartOf = (tag: string, spelling: string): boolean => spelling.length > 1 && tag.includes(spelling);
