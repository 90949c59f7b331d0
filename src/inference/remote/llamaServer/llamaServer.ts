import type { Token } from '../../decoding/tokenizer.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import type { HttpConnection } from '../connection/httpConnection.ts';
import {
  greedySampling,
  type InferenceServer,
  type RemoteCompletionEnd,
  type RemoteCompletionPart,
  type RemoteRequest,
  type RemoteSampling,
  type ServerProps,
} from '../inferenceServer.ts';
import { readCount, ServerJson, type ServerObject } from '../connection/serverJson.ts';
import { createVocabulary, type Vocabulary } from '../vocabulary.ts';

/** The HTTP API of llama-server, as far as the engine uses it. @param model where the server has several. */
export function llamaServer(connection: HttpConnection, model: string | undefined): InferenceServer {
  const json = new ServerJson(connection, model);
  return {
    connection,
    props: (signal) => readProps(json, model, signal),
    vocabulary: (props, signal) => readVocabulary(json, props, signal),
    tokenize: (content, { special, signal }) =>
      json.tokens({ content, parse_special: special, add_special: false }, signal),
    async detokenize(tokens, signal) {
      const { content } = await json.post('/detokenize', { tokens }, signal);
      if (typeof content === 'string') return content;
      throw json.malformed('/detokenize', 'it has no content');
    },
    async *complete(request, signal) {
      let generated = 0;
      const options = { signal, isLast: isEnd };
      for await (const event of json.events('/completion', completionBody(request), options)) {
        if (isEnd(event)) {
          const end = readEnd(json, event);
          // No event tells of the last tokens where they are a part of a character.
          const count = end === 'limit' ? Number(event['tokens_predicted']) - generated : 0;
          if (count > 0) yield { text: '', tokens: [], count };
          return end;
        }
        const part = readPart(json, event, generated);
        // Not every server heeds n_predict.
        if (part.count > 0 && generated >= Math.max(1, request.maxTokens)) return 'limit';
        generated += part.count;
        yield part;
      }
      throw json.brokenOff();
    },
  };
}

async function readProps(json: ServerJson, model: string | undefined, signal: AbortSignal): Promise<ServerProps> {
  const query = model === undefined ? '' : `?model=${encodeURIComponent(model)}`;
  const props = await json.get(`/props${query}`, signal);
  const settings = props['default_generation_settings'];
  const contextSize = isObject(settings) ? settings['n_ctx'] : undefined;
  const slots = readCount(props['total_slots']);
  if (typeof contextSize !== 'number' || slots === 0)
    throw json.malformed('/props', 'it has no n_ctx and total_slots: is it a llama-server?');
  const textOf = (key: string): string => (typeof props[key] === 'string' ? props[key] : '');
  return {
    contextSize: readCount(contextSize),
    slots,
    chatTemplate: textOf('chat_template') || undefined,
    bos: textOf('bos_token'),
    eos: textOf('eos_token'),
    model: textOf('model_alias') || textOf('model_path'),
    build: textOf('build_info'),
    fingerprint: textOf('chat_template'),
    limits: {},
    notes: [],
  };
}

async function readVocabulary(json: ServerJson, { bos, eos }: ServerProps, signal: AbortSignal): Promise<Vocabulary> {
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
  return createVocabulary((token) => spellings[token] ?? '', new Set(control), {
    bosToken,
    addsLeadingSpace: twice !== 'a' && twice.trimStart() !== twice,
    isExact: true,
  });
}

/** @param before tokens generated before it. */
function readPart(json: ServerJson, event: ServerObject, before: number): RemoteCompletionPart {
  const { content, tokens, tokens_predicted: generated, prompt_progress: progress } = event;
  if (isObject(progress)) {
    const { cache } = progress;
    return { text: '', tokens: [], count: 0, reused: typeof cache === 'number' ? cache : undefined };
  }
  if (typeof content !== 'string' || !Array.isArray(tokens))
    throw json.malformed('/completion', 'an event has no content and tokens');
  const token: unknown = tokens[0];
  if (typeof token !== 'number') return { text: '', tokens: [], count: 0 };
  return {
    text: content,
    tokens: [token as Token],
    // More than one where a character has several tokens.
    count: Math.max(1, (typeof generated === 'number' ? generated : 0) - before),
    logprobs: readLogprobs(event['completion_probabilities']),
  };
}

function readEnd(json: ServerJson, { stop_type: reason }: ServerObject): RemoteCompletionEnd {
  if (reason === 'eos' || reason === 'limit') return reason;
  throw json.malformed('/completion', `it ends for an unknown reason: ${String(reason)}`);
}

const isEnd = (event: unknown): boolean => isObject(event) && event['stop'] === true;

/** Added to the logit of a wanted token, so that the server takes it. The probabilities that it reports are without it. */
const bias = 1000;
const penaltyWindowTokens = 64;

/** The body of a request. All sampling parameters are given, for the server can have other defaults. */
function completionBody(request: RemoteRequest): object {
  const { prompt, slot, maxTokens, sampling, biases = new Map(), seed, gbnf, probabilities } = request;
  return {
    prompt,
    id_slot: slot,
    n_predict: maxTokens,
    ...Object.fromEntries(samplingNames.flatMap((name) => fieldsOf(name, sampling[name]))),
    logit_bias: probabilities?.of === undefined ? [...biases] : [[probabilities.of, bias]],
    seed,
    repeat_last_n: penaltyWindowTokens,
    typical_p: 1,
    mirostat: 0,
    dynatemp_range: 0,
    top_n_sigma: -1,
    ...(gbnf !== undefined && { grammar: gbnf }),
    ...(probabilities && { n_probs: probabilities.likeliest }),
    stream: true,
    return_tokens: true,
    return_progress: true,
    cache_prompt: true,
  };
}

const samplingNames = Object.keys(greedySampling) as (keyof RemoteSampling)[];

const fieldsOf = (name: string, value: unknown): readonly (readonly [name: string, value: unknown])[] => {
  if (Array.isArray(value) && value.length === 0) return [];
  return isObject(value)
    ? Object.entries(value).flatMap(([member, own]) => fieldsOf(`${name}_${member}`, own))
    : [[name, value]];
};

function readLogprobs(probabilities: unknown): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  const [first] = Array.isArray(probabilities) ? (probabilities as readonly unknown[]) : [];
  const top = isObject(first) ? first['top_logprobs'] : undefined;
  for (const entry of [first, ...(Array.isArray(top) ? (top as readonly unknown[]) : [])]) {
    const { id, logprob } = isObject(entry) ? entry : {};
    if (typeof id === 'number' && typeof logprob === 'number') found.set(id, logprob);
  }
  return found;
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
