import type { Token } from '../../decoding/token.ts';
import { ControlTokenMatcher } from '../../decoding/controlTokens.ts';
import { controlLike } from './controlStrings.ts';
import type { TokenizeOptions } from '../inferenceServer.ts';
import type { OpenAiTokenizer } from './openAiTokenizer.ts';
import { Vocabulary } from '../vocabulary.ts';

/**
 * Stands for the tokenizer of a server that tells nothing of it. Its tokens only count, and are sent as the text that they
 * stand for. Rather too many: a token is two ASCII characters, or a byte of another character.
 *
 * | token                                  | stands for                                              |
 * | -------------------------------------- | ------------------------------------------------------- |
 * | below 2^14                             | two ASCII characters; a zero as the second one: only one |
 * | 2^14 to 2^22                           | another character (its code point above 2^14)           |
 * | 2^22                                   | nothing: the rest of such a character                   |
 * | above                                  | a control string                                        |
 */
export class EstimatedTokenizer implements OpenAiTokenizer {
  readonly kind = 'estimated';
  readonly vocabulary: Vocabulary;
  readonly controlStrings: readonly string[];
  readonly #matcher: ControlTokenMatcher;

  constructor(controlStrings: readonly string[]) {
    this.controlStrings = controlStrings;
    this.#matcher = new ControlTokenMatcher(controlStrings);
    const control = new Set(controlStrings.map((_, index) => tokenOf(firstControl + index)));
    const options = { bosToken: undefined, addsLeadingSpace: false, isExact: false };
    this.vocabulary = new Vocabulary((token) => this.#spelling(token), control, options);
  }

  async tokenize(text: string, { special }: TokenizeOptions): Promise<readonly Token[]> {
    if (!special) return plainTokens(text);
    const tokens: Token[] = [];
    let end = 0;
    for (const span of this.#matcher.find(text)) {
      tokens.push(...plainTokens(text.slice(end, span.start)));
      tokens.push(tokenOf(firstControl + this.controlStrings.indexOf(text.slice(span.start, span.end))));
      ({ end } = span);
    }
    return [...tokens, ...plainTokens(text.slice(end))];
  }

  async detokenize(tokens: readonly Token[]): Promise<string> {
    return tokens.map((token) => this.#spelling(token)).join('');
  }

  /** The text of a prompt: control strings that are no control tokens in it are broken up. */
  promptOf(tokens: readonly Token[]): string {
    let text = '';
    let plain = '';
    const flush = (): void => {
      text += this.#breakUp(plain);
      plain = '';
    };
    for (const token of tokens) {
      if (!this.vocabulary.isControl(token)) {
        plain += this.#spelling(token);
        continue;
      }
      flush();
      text += this.#spelling(token);
    }
    flush();
    return text;
  }

  #breakUp(text: string): string {
    const likely = controlLike(text);
    const matcher = likely.length === 0 ? this.#matcher : new ControlTokenMatcher([...this.controlStrings, ...likely]);
    return matcher.split(text).join(invisible);
  }

  #spelling(token: Token): string {
    const id = Number(token);
    if (id >= firstControl) return this.controlStrings[id - firstControl] ?? '';
    if (id === filler) return '';
    if (id >= firstOther) return String.fromCodePoint(id - firstOther);
    const second = id % asciiCount;
    return String.fromCharCode(Math.floor(id / asciiCount), ...(second === 0 ? [] : [second]));
  }
}

const asciiCount = 2 ** 7;
const firstOther = asciiCount ** 2;
const filler = 2 ** 22;
const firstControl = filler + 1;
// A zero-width space: it shows nothing, and no control string has one.
const invisible = '\u200B';

const tokenOf = (id: number): Token => id as Token;

function plainTokens(text: string): readonly Token[] {
  const tokens: Token[] = [];
  for (const [part] of text.matchAll(/[\u0001-\u007F]{1,2}|[^]/gu)) {
    const code = part.codePointAt(0) ?? 0;
    if (code < asciiCount) tokens.push(tokenOf(code * asciiCount + (part.codePointAt(1) ?? 0)));
    else tokens.push(tokenOf(firstOther + code), ...Array.from(Buffer.from(part).subarray(1), () => tokenOf(filler)));
  }
  return tokens;
}
