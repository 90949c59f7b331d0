import type { Token } from '../../decoding/token.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import type { ServerProps } from '../inferenceServer.ts';
import type { ServerJson } from '../connection/serverJson.ts';
import { Vocabulary } from '../vocabulary.ts';

/** Reads the vocabulary of the model of a llama-server. @throws ServerFault */
export async function readLlamaVocabulary(
  json: ServerJson,
  { bos, eos }: Pick<ServerProps, 'bos' | 'eos'>,
  signal: AbortSignal,
): Promise<Vocabulary> {
  const spellings = await readSpellings(json, signal);
  const tokenize = (content: string, special: boolean, withBos = false): Promise<readonly Token[]> =>
    json.tokens({ content, parse_special: special, add_special: withBos }, signal);
  // A control token is one that a text has only where special tokens are read in it.
  const candidates = spellings.filter((text) => text === bos || text === eos || /[<>[\]|]/.test(text));
  const joined = [...new Set(candidates)].filter((text) => text.length > 1).join(separator);
  const [special, plain] = await Promise.all([tokenize(joined, true), tokenize(joined, false)]);
  const inPlain = new Set(plain);
  const control = special.filter((token) => !inPlain.has(token) && (spellings[token] ?? '').length > 1);
  const [bosToken] = await tokenize('', false, true);
  const twice = spellings[(await tokenize('a', false))[0] ?? -1] ?? '';
  return new Vocabulary((token) => spellings[token] ?? '', new Set(control), {
    bosToken,
    addsLeadingSpace: twice !== 'a' && twice.trimStart() !== twice,
  });
}

// A line break: no control string has one, and words end at it.
const separator = '\n';
const maxVocabulary = 2_000_000;

/** The spelling of each token of the vocabulary; that of a part of a character is "". */
async function readSpellings(json: ServerJson, signal: AbortSignal): Promise<readonly string[]> {
  const { data } = await json.get('/v1/models', signal);
  const meta = json.ownModel(data)?.['meta'];
  const size = isObject(meta) ? meta['n_vocab'] : undefined;
  if (typeof size !== 'number' || !Number.isInteger(size) || size < 1 || size > maxVocabulary)
    throw json.malformed('/v1/models', 'it has no size of the vocabulary (meta.n_vocab)');
  const content = Array.from({ length: size }, (_, token) => token);
  const { tokens } = await json.post('/tokenize', { content, with_pieces: true }, signal);
  if (!Array.isArray(tokens) || tokens.length !== size)
    throw json.malformed('/tokenize', 'it does not spell the tokens that it is given (with_pieces)');
  return tokens.map((entry: unknown) => (isObject(entry) && typeof entry['piece'] === 'string' ? entry['piece'] : ''));
}
