import type {
  InferenceServer,
  RemoteCompletionEnd,
  RemoteCompletionPart,
  RemoteRequest,
  ServerProps,
  TokenizeOptions,
} from '../inferenceServer.ts';
import { optional, ServerJson, type ServerObject } from '../connection/serverJson.ts';
import type { Token } from '../../decoding/tokenizer.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import {
  EstimatedTokenizer,
  type OpenAiTokenizer,
  openServerTokenizer,
  readControlStrings,
} from './openAiTokenizer.ts';
import { OpenAiEvents, readLogprobs } from './openAiEvents.ts';
import {
  completionBody,
  completionPath,
  forcedBody,
  grammarBody,
  type GrammarField,
  grammarFields,
  logprobsBody,
} from './openAiRequest.ts';
import type { HttpConnection } from '../connection/httpConnection.ts';
import type { Vocabulary } from '../vocabulary.ts';

/** Requests that are sent at once. The server has a queue of its own. */
const maxRequests = 128;

/** The completion API of OpenAI-style servers (vLLM, SGLang), as far as the engine uses it. */
export class OpenAiServer implements InferenceServer {
  readonly connection: HttpConnection;
  readonly #json: ServerJson;
  readonly #template: string;
  #abilities: Promise<ServerAbilities> | undefined;
  /** What the server was when its abilities were tried. */
  #identity = '';

  /**
   * @param model where the server has several.
   * @param template source of the chat template: the control strings of the model are searched in it.
   */
  constructor(connection: HttpConnection, model: string | undefined, template: string) {
    this.connection = connection;
    this.#json = new ServerJson(connection, model);
    this.#template = template;
  }

  async props(signal: AbortSignal): Promise<ServerProps> {
    const { identity, ...known } = await readIdentity(this.#json, signal);
    if (identity !== this.#identity) this.#abilities = undefined;
    this.#identity = identity;
    const { tokenizer, grammarField, limits, notes, build, bos, eos } = await this.#probed(signal);
    const { controlStrings } = tokenizer;
    const fingerprint = JSON.stringify([identity, tokenizer.kind, controlStrings, grammarField, Object.keys(limits)]);
    return { ...known, slots: maxRequests, chatTemplate: undefined, build, bos, eos, fingerprint, limits, notes };
  }

  async vocabulary(_: ServerProps, signal: AbortSignal): Promise<Vocabulary> {
    return (await this.#probed(signal)).tokenizer.vocabulary;
  }

  async tokenize(text: string, options: TokenizeOptions): Promise<readonly Token[]> {
    return (await this.#probed(options.signal)).tokenizer.tokenize(text, options);
  }

  async detokenize(tokens: readonly Token[], signal: AbortSignal): Promise<string> {
    return (await this.#probed(signal)).tokenizer.detokenize(tokens, signal);
  }

  async *complete(
    request: RemoteRequest,
    signal: AbortSignal,
  ): AsyncGenerator<RemoteCompletionPart, RemoteCompletionEnd> {
    const { tokenizer, grammarField } = await this.#probed(signal);
    const body = completionBody(request, tokenizer.promptOf(request.prompt), grammarField);
    const reader = new OpenAiEvents(this.#json, tokenizer.vocabulary);
    for await (const event of this.#json.events(completionPath, body, { signal })) yield* reader.read(event);
    return reader.end();
  }

  /** What the server can do, tried once. */
  async #probed(signal: AbortSignal): Promise<ServerAbilities> {
    this.#abilities ??= probeAbilities(this.#json, this.#template, signal);
    const abilities = this.#abilities;
    try {
      return await abilities;
    } catch (error) {
      if (this.#abilities === abilities) this.#abilities = undefined;
      throw error;
    }
  }
}

/** What a server says of its model at no cost. */
interface ServerIdentity extends Pick<ServerProps, 'contextSize' | 'model'> {
  /** Equal texts: it is likely to be the same server. */
  readonly identity: string;
}

/** Asks a server for its list of models. @throws ServerFault when it has no such model. */
async function readIdentity(json: ServerJson, signal: AbortSignal): Promise<ServerIdentity> {
  const { data } = await json.get('/v1/models', signal);
  const own = json.ownModel(data);
  if (!own) throw json.malformed('/v1/models', 'it does not list the model: check model in models.json');
  const { id, root, max_model_len: length } = own;
  const contextSize = typeof length === 'number' && length > 0 ? length : 0;
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
  const tokenizer = served ?? new EstimatedTokenizer(controls.strings);
  const prompt = tokenizer.promptOf(await tokenizer.tokenize(probeText, { special: false, signal }));
  const grammarField = await findGrammarField(json, prompt, signal);
  const scores = served ? await findScoringProblem(json, prompt, signal) : 'its probabilities are not known by token';
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
      ...(scores !== undefined && { scores: `the inference server at ${url} cannot score answers: ${scores}` }),
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

/** All kinds of notation that grammars are written in. */
const probeGrammar = 'root ::= r0 ("x" | "")\nr0 ::= "\\U00000023" "7" [\\U00000051-\\U00000051]{1,1} ("" | r0)';

async function findGrammarField(
  json: ServerJson,
  prompt: string | readonly Token[],
  signal: AbortSignal,
): Promise<GrammarField | undefined> {
  for (const field of grammarFields) {
    const request = { prompt, max_tokens: 8, temperature: 0, ...grammarBody(field, probeGrammar) };
    const { text } = firstChoice(await optional(json.post(completionPath, request, signal)));
    if (typeof text === 'string' && text.startsWith(probeAnswer)) return field;
  }
  return undefined;
}

/** Why answers cannot be scored; undefined: they can. The probability of a token that is forced must be that without force. */
async function findScoringProblem(
  json: ServerJson,
  prompt: string | readonly Token[],
  signal: AbortSignal,
): Promise<string | undefined> {
  const ask = async (fields: object): Promise<ReadonlyMap<number, number>> => {
    const request = { prompt, max_tokens: 1, temperature: 0, ...logprobsBody(Infinity), ...fields };
    return readLogprobs(firstChoice(await optional(json.post(completionPath, request, signal)))['logprobs']);
  };
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
