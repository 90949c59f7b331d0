import type { Token } from '../../decoding/token.ts';
import { ControlTokenMatcher } from '../../decoding/controlTokens.ts';
import { controlLike, type ControlStrings } from './controlStrings.ts';
import type { TokenizeOptions } from '../inferenceServer.ts';
import { optional } from './openAiIdentity.ts';
import type { OpenAiTokenizer } from './openAiTokenizer.ts';
import type { ServerJson } from '../connection/serverJson.ts';
import { Vocabulary } from '../vocabulary.ts';

/**
 * Tokenizes by the /tokenize of a server. It reads control strings in every text, so a text without control tokens is sent in
 * parts: cut within each string that is a control string, or looks like one where they are not all known.
 */
class ServerTokenizer implements OpenAiTokenizer {
  readonly kind = 'server';
  readonly vocabulary: Vocabulary;
  readonly controlStrings: readonly string[];
  readonly bosSpelling: string;
  readonly #json: ServerJson;
  readonly #areAll: boolean;

  constructor(json: ServerJson, vocabulary: Vocabulary, controls: ControlStrings, bosSpelling: string) {
    this.#json = json;
    this.vocabulary = vocabulary;
    this.controlStrings = controls.strings;
    this.#areAll = controls.areAll;
    this.bosSpelling = bosSpelling;
  }

  async tokenize(text: string, { special, signal }: TokenizeOptions): Promise<readonly Token[]> {
    const parts = special ? [text] : this.#cut(text);
    return (await Promise.all(parts.map((part) => readTokens(this.#json, part, { signal })))).flat();
  }

  detokenize(tokens: readonly Token[], signal: AbortSignal): Promise<string> {
    return readText(this.#json, tokens, signal);
  }

  promptOf(tokens: readonly Token[]): readonly Token[] {
    return tokens;
  }

  #cut(text: string): readonly string[] {
    const likely = this.#areAll ? [] : controlLike(text);
    const matcher =
      likely.length === 0
        ? this.vocabulary.controlTokens
        : new ControlTokenMatcher([...this.controlStrings, ...likely]);
    return matcher.split(text).filter((part) => part !== '');
  }
}

/** A tokenizer over the /tokenize of a server; undefined: it has none. */
export async function openServerTokenizer(
  json: ServerJson,
  controls: ControlStrings,
  signal: AbortSignal,
): Promise<ServerTokenizer | undefined> {
  const { tokens: sample } = await optional(json.post('/tokenize', tokenizeBody('a', false), signal));
  if (!Array.isArray(sample) || sample.length === 0) return undefined;
  const tokenize = (text: string, withBos = false): Promise<readonly Token[]> =>
    readTokens(json, text, { withBos, signal });
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
  const vocabulary = new Vocabulary((token) => spellings.get(token), new Set(spellings.keys()), {
    bosToken: bosSpelling === '' ? undefined : first,
    addsLeadingSpace: led.slice(lead.length).join() !== plain.join(),
  });
  return new ServerTokenizer(json, vocabulary, controls, bosSpelling);
}

// A control character: tokenizers have it as a byte, which merges with nothing.
const separator = '\u0001';

const tokenizeBody = (prompt: string, withBos: boolean): object => ({ prompt, add_special_tokens: withBos });

const readTokens = (
  json: ServerJson,
  text: string,
  { withBos = false, signal }: { readonly withBos?: boolean; readonly signal: AbortSignal },
): Promise<readonly Token[]> => json.tokens(tokenizeBody(text, withBos), signal);

/** The text of tokens: vLLM calls it prompt, SGLang text. */
async function readText(json: ServerJson, tokens: readonly Token[], signal: AbortSignal): Promise<string> {
  const { prompt, text } = await json.post('/detokenize', { tokens, skip_special_tokens: false }, signal);
  const found = prompt ?? text;
  if (typeof found === 'string') return found;
  throw json.malformed('/detokenize', 'it has no text');
}
