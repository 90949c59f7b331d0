import type { Token } from '../../decoding/tokenizer.ts';
import { ControlTokenMatcher, separator, splitAtSpans } from '../../decoding/controlTokens.ts';
import type { TokenizeOptions } from '../inferenceServer.ts';
import { optional, type ServerJson } from '../connection/serverJson.ts';
import { createVocabulary, type Vocabulary } from '../vocabulary.ts';
import { isObject } from '../../../base/jsonTypes.ts';

/** How the texts of an OpenAI-style server become tokens, and tokens prompts. */
export interface OpenAiTokenizer {
  readonly kind: 'server' | 'estimated';
  readonly vocabulary: Vocabulary;
  readonly controlStrings: readonly string[];
  tokenize(text: string, options: TokenizeOptions): Promise<readonly Token[]>;
  detokenize(tokens: readonly Token[], signal: AbortSignal): Promise<string>;
  /** What a request has as its prompt. */
  promptOf(tokens: readonly Token[]): string | readonly Token[];
}

/**
 * A tokenizer over the /tokenize of a server; undefined: it has none. The server reads control strings in every text, so a text
 * without control tokens is sent in parts: cut within each string that is a control string, or looks like one where they are
 * not all known.
 */
export async function openServerTokenizer(
  json: ServerJson,
  controls: ControlStrings,
  signal: AbortSignal,
): Promise<(OpenAiTokenizer & { readonly bosSpelling: string }) | undefined> {
  const { tokens: sample } = await optional(json.post('/tokenize', tokenizeBody('a', false), signal));
  if (!Array.isArray(sample) || sample.length === 0) return undefined;
  const tokenize = (text: string, withBos = false): Promise<readonly Token[]> =>
    readTokens(json, text, signal, withBos);
  const [plain, withBos, lead, led, ...alone] = await Promise.all([
    tokenize('a'),
    tokenize('a', true),
    tokenize(separator),
    tokenize(`${separator}a`),
    ...controls.strings.map((string) => tokenize(string)),
  ]);
  const spellings = new Map<Token, string>();
  for (const [index, string] of controls.strings.entries()) {
    const [token, ...others] = alone[index] ?? [];
    if (token !== undefined && others.length === 0) spellings.set(token, string);
  }
  const first = withBos.length > plain.length && withBos[0] !== plain[0] ? withBos[0] : undefined;
  const bosSpelling = first === undefined ? '' : (spellings.get(first) ?? (await readText(json, [first], signal)));
  if (first !== undefined && bosSpelling !== '') spellings.set(first, bosSpelling);
  const vocabulary = createVocabulary((token) => spellings.get(token), new Set(spellings.keys()), {
    bosToken: bosSpelling === '' ? undefined : first,
    addsLeadingSpace: led.slice(lead.length).join() !== plain.join(),
    isExact: true,
  });
  const { controlTokens } = vocabulary;
  const cut = (text: string): readonly string[] => {
    const matcher = controls.areAll ? controlTokens : withLikely(text, controls.strings, controlTokens);
    return matcher.split(text).filter((part) => part !== '');
  };
  return {
    kind: 'server',
    vocabulary,
    controlStrings: controls.strings,
    bosSpelling,
    async tokenize(text, options) {
      const parts = options.special ? [text] : cut(text);
      return (await Promise.all(parts.map((part) => readTokens(json, part, options.signal)))).flat();
    },
    detokenize: (tokens, ending) => readText(json, tokens, ending),
    promptOf: (tokens) => tokens,
  };
}

const tokenizeBody = (prompt: string, withBos: boolean): object => ({ prompt, add_special_tokens: withBos });

const readTokens = (json: ServerJson, text: string, signal: AbortSignal, withBos = false): Promise<readonly Token[]> =>
  json.tokens(tokenizeBody(text, withBos), signal);

/** The text of tokens: vLLM calls it prompt, SGLang text. */
async function readText(json: ServerJson, tokens: readonly Token[], signal: AbortSignal): Promise<string> {
  const { prompt, text } = await json.post('/detokenize', { tokens, skip_special_tokens: false }, signal);
  const found = prompt ?? text;
  if (typeof found === 'string') return found;
  throw json.malformed('/detokenize', 'it has no text');
}

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
export function estimatedTokenizer(controlStrings: readonly string[]): OpenAiTokenizer {
  const matcher = new ControlTokenMatcher(controlStrings);
  const spelling = (token: Token): string => {
    const id = Number(token);
    if (id >= firstControl) return controlStrings[id - firstControl] ?? '';
    if (id === filler) return '';
    if (id >= firstOther) return String.fromCodePoint(id - firstOther);
    const second = id % asciiCount;
    return String.fromCharCode(Math.floor(id / asciiCount), ...(second === 0 ? [] : [second]));
  };
  const control = new Set(controlStrings.map((_, index) => tokenOf(firstControl + index)));
  const vocabulary = createVocabulary(spelling, control, {
    bosToken: undefined,
    addsLeadingSpace: false,
    isExact: false,
  });
  return {
    kind: 'estimated',
    vocabulary,
    controlStrings,
    async tokenize(text, { special }) {
      return splitAtSpans(text, special ? matcher.find(text) : []).flatMap((piece) =>
        piece.special ? tokenOf(firstControl + controlStrings.indexOf(piece.text)) : plainTokens(piece.text),
      );
    },
    detokenize: async (tokens) => tokens.map(spelling).join(''),
    // Control strings that are no control tokens in the prompt are broken up.
    promptOf(tokens) {
      const parts = [''];
      for (const token of tokens) {
        if (vocabulary.isControl(token)) parts.push(spelling(token), '');
        else parts.push(`${parts.pop()}${spelling(token)}`);
      }
      const broken = (text: string): string => withLikely(text, controlStrings, matcher).split(text).join(invisible);
      return parts.map((part, index) => (index % 2 === 0 ? broken(part) : part)).join('');
    },
  };
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

type ControlStrings = Awaited<ReturnType<typeof readControlStrings>>;

/**
 * The control strings of a server's model: as vLLM tells them (/tokenizer_info), else those in its template.
 * @returns `areAll`: whether there are no others; `bos` and `eos`: "" = not known.
 */
export async function readControlStrings(json: ServerJson, template: string, signal: AbortSignal) {
  const info = await optional(json.get('/tokenizer_info', signal));
  const added = info['added_tokens_decoder'];
  const entries = isObject(added) ? Object.values(added) : [];
  const named = info['additional_special_tokens'];
  const [bos, eos] = [contentOf(info['bos_token']), contentOf(info['eos_token'])];
  const others = [info['pad_token'], info['unk_token'], ...(Array.isArray(named) ? (named as readonly unknown[]) : [])];
  const special = [bos, eos, ...others.map(contentOf), ...entries.filter(isSpecial).map(contentOf)];
  const areAll = entries.length > 0;
  const strings = [...special, ...(areAll ? [] : controlLike(template))].filter((text) => text !== '');
  return { strings: [...new Set(strings)], areAll, bos, eos };
}

/** Whether an added token is a control token. vLLM tells the strings of all added tokens, and not which of them are. */
const isSpecial = (token: unknown): boolean =>
  isObject(token) ? token['special'] === true : controlLike(contentOf(token))[0] === token;

/** Strings in a text that control tokens look like. Tags such as `<tool_call>` are words of the vocabularies that have them. */
const controlLike = (text: string): readonly string[] => text.match(controlPattern) ?? [];

/** A matcher of control strings, and of those in a text that only look like one. */
function withLikely(text: string, strings: readonly string[], matcher: ControlTokenMatcher): ControlTokenMatcher {
  const likely = controlLike(text);
  return likely.length === 0 ? matcher : new ControlTokenMatcher([...strings, ...likely]);
}

const controlPattern =
  /<[|｜][^<>|｜\s'"]{1,60}[|｜]>|<\/?s>|<(?:bos|eos|pad|unk|mask|(?:start|end)_of_(?:turn|image|utterance|role|text))>|\[\/?[A-Z][A-Z_]{2,30}\]/g;

const contentOf = (token: unknown): string => {
  const content = isObject(token) ? token['content'] : token;
  return typeof content === 'string' ? content : '';
};
