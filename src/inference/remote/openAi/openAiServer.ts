import type {
  InferenceServer,
  ServerProps,
  RemoteCompletionEnd,
  RemoteCompletionPart,
  RemoteRequest,
} from '../inferenceServer.ts';
import { optional, readCount, ServerJson, type ServerObject } from '../connection/serverJson.ts';
import { splitAtSpans } from '../../decoding/controlTokens.ts';
import type { Token } from '../../decoding/tokenizer.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import type { OpenAiTokenizer } from './openAiTokenizer.ts';
import { estimatedTokenizer, openServerTokenizer, readControlStrings } from './openAiTokenizer.ts';
import type { HttpConnection } from '../connection/httpConnection.ts';
import type { Vocabulary } from '../vocabulary.ts';
import { renameSampling } from '../../contract/samplingParams.ts';

/** Requests that are sent at once. The server has a queue of its own. */
const maxRequests = 128;

/**
 * The completion API of OpenAI-style servers (vLLM, SGLang), as far as the engine uses it.
 * @param model where the server has several.
 * @param template source of the chat template: the control strings of the model are searched in it.
 */
export function openAiServer(connection: HttpConnection, model: string | undefined, template = ''): InferenceServer {
  const json = new ServerJson(connection, model);
  let tried: Promise<ServerAbilities> | undefined;
  // What the server was when its abilities were tried.
  let triedIdentity = '';
  const probed = (signal: AbortSignal): Promise<ServerAbilities> =>
    (tried ??= probeAbilities(json, template, signal).catch((error: unknown) => {
      tried = undefined;
      throw error;
    }));
  return {
    connection,
    async props(signal) {
      const { identity, ...known } = await readIdentity(json, signal);
      if (identity !== triedIdentity) tried = undefined;
      triedIdentity = identity;
      const { tokenizer, grammarField, limits, notes, build, bos, eos } = await probed(signal);
      const { controlStrings } = tokenizer;
      const fingerprint = JSON.stringify([identity, tokenizer.kind, controlStrings, grammarField, Object.keys(limits)]);
      return { ...known, slots: maxRequests, chatTemplate: undefined, build, bos, eos, fingerprint, limits, notes };
    },
    vocabulary: async (_, signal) => (await probed(signal)).tokenizer.vocabulary,
    tokenize: async (text, options) => (await probed(options.signal)).tokenizer.tokenize(text, options),
    detokenize: async (tokens, signal) => (await probed(signal)).tokenizer.detokenize(tokens, signal),
    async *complete(request, signal) {
      const { tokenizer, grammarField } = await probed(signal);
      const body = completionBody(request, tokenizer.promptOf(request.prompt), grammarField);
      const reader = new OpenAiEvents(json, tokenizer.vocabulary);
      let left = body.max_tokens;
      for await (const event of json.events(completionPath, body, { signal }))
        for (const part of reader.read(event)) {
          // Not every server heeds max_tokens.
          if (part.count > 0 && left <= 0) return 'limit';
          left -= part.count;
          yield part;
        }
      return reader.end();
    },
  };
}

/** A server's list of models, as its identity: equal ones are likely the same server. @throws ServerFault */
async function readIdentity(
  json: ServerJson,
  signal: AbortSignal,
): Promise<Pick<ServerProps, 'contextSize' | 'model'> & { readonly identity: string }> {
  const { data } = await json.get('/v1/models', signal);
  const own = json.ownModel(data);
  if (!own) throw json.malformed('/v1/models', 'it does not list the model: check model in models.json');
  const { id, root, max_model_len: length } = own;
  const contextSize = readCount(length);
  const identity = JSON.stringify([id, root ?? '', contextSize]);
  return { identity, contextSize, model: typeof id === 'string' ? id : '' };
}

/** What an OpenAI-style server can do beyond the API that all of them share. */
interface ServerAbilities extends Pick<ServerProps, 'bos' | 'eos' | 'build' | 'limits' | 'notes'> {
  readonly tokenizer: OpenAiTokenizer;
  /** Undefined: it follows no grammar. */
  readonly grammarField: GrammarField | undefined;
}

/** Finds out what a server can do, by requests of a few tokens: versions and options of servers say less. */
async function probeAbilities(json: ServerJson, template: string, signal: AbortSignal): Promise<ServerAbilities> {
  const { url } = json.connection;
  const controls = await readControlStrings(json, template, signal);
  const served = await openServerTokenizer(json, controls, signal);
  const tokenizer = served ?? estimatedTokenizer(controls.strings);
  const prompt = tokenizer.promptOf(await tokenizer.tokenize(probeText, { special: false, signal }));
  const probe: Probe = async (fields) =>
    firstChoice(await optional(json.post(completionPath, { prompt, temperature: 0, ...fields }, signal)));
  const grammarField = await findGrammarField(probe);
  const scores = served ? await findScoringProblem(probe) : 'its probabilities are not known by token';
  const { version } = await optional(json.get('/version', signal));
  return {
    tokenizer,
    // A server that is sent text writes the BOS token itself.
    bos: served ? controls.bos || served.bosSpelling : '',
    eos: controls.eos,
    build: typeof version === 'string' ? version : '',
    grammarField,
    limits: {
      samplers: `dry and xtc have no effect on the inference server at ${url}, which has no such samplers`,
      ...(grammarField === undefined && { grammars: `the inference server at ${url} follows no grammar in GBNF` }),
      ...(scores !== undefined && {
        scores: `the inference server at ${url} cannot score answers: ${scores}`,
        confidence: `the inference server at ${url} does not tell how probable a call is: ${scores}`,
      }),
    },
    notes: [
      ...(served
        ? []
        : [`${url} has no /tokenize: tokens are estimated, rather too many, and prompts are sent as text`]),
      ...(!controls.eos && template.includes('eos_token')
        ? [
            `${url} does not name its EOS token, which the chat template writes: start vLLM with --enable-tokenizer-info-endpoint`,
          ]
        : []),
    ],
  };
}

// No control token, and nothing that a prompt begins with.
const probeText = 'The';
const probeAnswer = '#7Q';
const probeGrammar = 'root ::= r0 ("x" | "")\nr0 ::= "\\U00000023" "7" [\\U00000051-\\U00000051]{1,1} ("" | r0)';

/** The choice of a completion with these fields; empty: the server refuses them. */
type Probe = (fields: object) => Promise<ServerObject>;

async function findGrammarField(probe: Probe): Promise<GrammarField | undefined> {
  for (const field of grammarFields) {
    const { text } = await probe({ max_tokens: 8, ...grammarBody(field, probeGrammar) });
    if (typeof text === 'string' && text.startsWith(probeAnswer)) return field;
  }
  return undefined;
}

/** Why answers cannot be scored; undefined: they can. The probability of a token that is forced must be that without force. */
async function findScoringProblem(probe: Probe): Promise<string | undefined> {
  const ask = async (fields: object): Promise<ReadonlyMap<number, number>> =>
    readLogprobs((await probe({ max_tokens: 1, ...logprobsBody(Infinity), ...fields }))['logprobs']);
  const free = [...(await ask({}))].sort(([, a], [, b]) => b - a);
  const last = free.at(-1);
  if (!last || free.length < 2) return 'it does not report the probabilities of tokens by their ids';
  const [token, expected] = last;
  const forced = (await ask(forcedBody(token as Token))).get(token);
  if (forced === undefined) return 'it does not generate the token that logit_bias demands';
  return Math.abs(forced - expected) < maxDeviation
    ? undefined
    : 'the probabilities that it reports include logit_bias';
}

// Numbers of another batch differ a little.
const maxDeviation = 0.5;

function firstChoice({ choices }: ServerObject): ServerObject {
  const [choice] = Array.isArray(choices) ? (choices as readonly unknown[]) : [];
  return isObject(choice) ? choice : {};
}

/** Tokens that may be without text: far more than the bytes of a character. */
const maxPending = 16;

/** Reads the events of one completion. An event may have several tokens, and the text of a character comes with its last token. */
export class OpenAiEvents {
  readonly #json: ServerJson;
  readonly #vocabulary: Vocabulary;
  /** Tokens whose text has not come yet. */
  #pending: Token[] = [];
  #end: RemoteCompletionEnd | undefined;

  constructor(json: ServerJson, vocabulary: Vocabulary) {
    this.#json = json;
    this.#vocabulary = vocabulary;
  }

  *read(event: ServerObject): Generator<RemoteCompletionPart> {
    const { choices, usage } = event;
    if (!Array.isArray(choices)) throw this.#json.malformed(completionPath, 'an event has no choices');
    // The last event has none: it reports what was used.
    const [choice] = choices as readonly unknown[];
    if (isObject(choice)) {
      const { text, token_ids: ids, finish_reason: reason } = choice;
      if (typeof text !== 'string') throw this.#json.malformed(completionPath, 'a choice has no text');
      const tokens = Array.isArray(ids) ? (ids as readonly Token[]) : undefined;
      if (reason !== null && reason !== undefined) this.#end = this.#endOf(reason);
      const logprobs = readLogprobs(choice['logprobs']);
      const parts = tokens ? this.#withTokens(text, tokens) : this.#withoutTokens(text);
      for (const part of parts) yield { ...part, logprobs };
      // A part of a character.
      if (this.#end === 'limit' && this.#pending.length > 0)
        yield { text: '', tokens: [], count: this.#pending.length };
    }
    const details = isObject(usage) ? usage['prompt_tokens_details'] : undefined;
    const reused = isObject(details) ? details['cached_tokens'] : undefined;
    if (typeof reused === 'number') yield { text: '', tokens: [], count: 0, reused };
  }

  /** Why the completion ended. @throws ServerFault when it did not. */
  end(): RemoteCompletionEnd {
    if (this.#end) return this.#end;
    throw this.#json.brokenOff();
  }

  #endOf(reason: unknown): RemoteCompletionEnd {
    if (reason === 'stop') return 'eos';
    if (reason === 'length') return 'limit';
    throw this.#json.malformed(completionPath, `it ends for an unknown reason: ${String(reason)}`);
  }

  *#withTokens(text: string, tokens: readonly Token[]): Generator<RemoteCompletionPart> {
    const { isControl } = this.#vocabulary;
    let rest = text;
    for (const token of tokens) {
      if (!isControl(token)) {
        this.#pending.push(token);
        continue;
      }
      const spelling = this.#vocabulary.controlSpelling(token);
      const at = rest.indexOf(spelling);
      // The end of generation token has no text.
      yield* this.#flush(at < 0 ? rest : rest.slice(0, at));
      rest = at < 0 ? '' : rest.slice(at + spelling.length);
      yield { text: spelling, tokens: [token], count: 1 };
    }
    yield* this.#flush(rest);
  }

  *#flush(text: string): Generator<RemoteCompletionPart> {
    if (text === '' && this.#pending.length < maxPending) return;
    const tokens = this.#pending;
    this.#pending = [];
    yield { text, tokens, count: Math.max(1, tokens.length) };
  }

  /** A server that sends no ids writes control tokens as text. */
  *#withoutTokens(text: string): Generator<RemoteCompletionPart> {
    const { controlTokens, controlToken } = this.#vocabulary;
    for (const piece of splitAtSpans(text, controlTokens.find(text))) {
      const token = piece.special ? controlToken(piece.text) : undefined;
      yield { text: piece.text, tokens: token === undefined ? [] : [token], count: 1 };
    }
  }
}

/** The logarithms of probabilities of the first token of a choice, by token id; empty where the server names them by text. */
function readLogprobs(logprobs: unknown): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  if (!isObject(logprobs)) return found;
  const { tokens, token_logprobs: own, top_logprobs: top } = logprobs;
  const [likeliest] = Array.isArray(top) ? (top as readonly unknown[]) : [];
  const entries = isObject(likeliest) ? Object.entries(likeliest) : [];
  const [name] = Array.isArray(tokens) ? (tokens as readonly unknown[]) : [];
  const [logprob] = Array.isArray(own) ? (own as readonly unknown[]) : [];
  for (const [token, value] of [...entries, [name, logprob] as const]) {
    const id = /^token_id:(\d+)$/.exec(String(token))?.[1];
    if (id !== undefined && typeof value === 'number') found.set(Number(id), value);
  }
  return found;
}

const completionPath = '/v1/completions';

/** A field of a request that has a grammar in GBNF. */
type GrammarField = 'structured_outputs' | 'guided_grammar' | 'ebnf';

/** In the order in which they are tried: vLLM from 0.11 on, vLLM before 0.12, SGLang. */
const grammarFields: readonly GrammarField[] = ['structured_outputs', 'guided_grammar', 'ebnf'];

/** The largest bias that the API has. The server takes a token that has it. */
const maxBias = 100;
/** The most that a server reports without an option of its own. */
const maxLogprobs = 20;

const grammarBody = (field: GrammarField, gbnf: string): object =>
  field === 'structured_outputs' ? { [field]: { grammar: gbnf } } : { [field]: gbnf };

/** The field that has a token generated. */
const forcedBody = (token: Token): object => biasBody(new Map([[token, maxBias]]));

const biasBody = (biases: ReadonlyMap<Token, number>): object => ({
  logit_bias: Object.fromEntries(
    [...biases].map(([token, value]) => [token, Math.min(maxBias, Math.max(-maxBias, value))]),
  ),
});

/** The fields that ask for probabilities, with the ids of their tokens. */
const logprobsBody = (likeliest: number): object => ({
  logprobs: Math.min(likeliest, maxLogprobs),
  return_tokens_as_token_ids: true,
});

/** The body of a request. All sampling parameters are given, for the server can have other defaults. */
const completionBody = (
  { maxTokens, sampling, biases = new Map(), seed, gbnf, probabilities }: RemoteRequest,
  prompt: string | readonly Token[],
  grammarField: GrammarField | undefined,
) => ({
  prompt,
  // A prompt alone cannot be asked for.
  max_tokens: Math.max(1, maxTokens),
  ...renameSampling(sampling, 'openAi'),
  // No limit is -1 for all of them, and 0 for some.
  ...(sampling.top_k === 0 && { top_k: -1 }),
  ...(biases.size > 0 && biasBody(biases)),
  ...(seed !== 0 && { seed }),
  ...(gbnf !== undefined && grammarField && grammarBody(grammarField, gbnf)),
  ...(probabilities && logprobsBody(probabilities.likeliest)),
  ...(probabilities?.of !== undefined && forcedBody(probabilities.of)),
  skip_special_tokens: false,
  spaces_between_special_tokens: false,
  return_token_ids: true,
  stream: true,
  stream_options: { include_usage: true },
});
