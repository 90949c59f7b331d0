import { isObject } from '../../jsonTypes.ts';
import type { HttpConnection } from './httpConnection.ts';
import { ServerFault } from './serverFault.ts';

/** What llama-server says of the model that it serves. */
export interface ServerProps {
  /** Tokens of one slot. */
  readonly contextSize: number;
  readonly slots: number;
  readonly chatTemplate: string | undefined;
  readonly bos: string;
  readonly eos: string;
  /** Name of the model. */
  readonly model: string;
  /** Version of the server. */
  readonly build: string;
}

/** A part of a completion: one token, and the text that it completes; or the progress of its prompt. */
export interface RemoteCompletionPart {
  readonly text: string;
  readonly token: number | undefined;
  /** Tokens generated so far; more than the parts where a character has several tokens. */
  readonly generated: number;
  /** Tokens of the prompt that were in the KV cache already; undefined: this part does not say it. */
  readonly reused: number | undefined;
  /** Of the token: natural logarithms of the probabilities of the likeliest tokens, and of its own. */
  readonly logprobs: ReadonlyMap<number, number>;
}

/** The end of a completion. */
export interface RemoteCompletionEnd {
  readonly reason: 'eos' | 'limit' | 'word';
  /** Tokens of the prompt that were in the KV cache already. */
  readonly reused: number;
}

const isEnd = (event: unknown): boolean => isObject(event) && event['stop'] === true;

/** The HTTP API of llama-server, as far as the engine uses it. */
export class LlamaServer {
  readonly connection: HttpConnection;
  readonly #model: string | undefined;

  /** @param model where the server has several. */
  constructor(connection: HttpConnection, model: string | undefined) {
    this.connection = connection;
    this.#model = model;
  }

  async props(signal: AbortSignal): Promise<ServerProps> {
    const query = this.#model === undefined ? '' : `?model=${encodeURIComponent(this.#model)}`;
    const props = await this.#get(`/props${query}`, signal);
    const settings = props['default_generation_settings'];
    const contextSize = isObject(settings) ? settings['n_ctx'] : undefined;
    const slots = props['total_slots'];
    if (typeof contextSize !== 'number' || typeof slots !== 'number' || slots < 1)
      throw this.#malformed('/props', 'it has no n_ctx and total_slots: is it a llama-server?');
    const textOf = (key: string): string => (typeof props[key] === 'string' ? props[key] : '');
    return {
      contextSize,
      slots,
      chatTemplate: textOf('chat_template') || undefined,
      bos: textOf('bos_token'),
      eos: textOf('eos_token'),
      model: textOf('model_alias') || textOf('model_path'),
      build: textOf('build_info'),
    };
  }

  /** The spelling of each token of the vocabulary; that of a part of a character is "". */
  async vocabulary(signal: AbortSignal): Promise<readonly string[]> {
    const models = await this.#get('/v1/models', signal);
    const list = Array.isArray(models['data']) ? (models['data'] as readonly unknown[]) : [];
    const own = list.find((entry) => isObject(entry) && entry['id'] === this.#model) ?? list[0];
    const meta = isObject(own) ? own['meta'] : undefined;
    const size = isObject(meta) ? meta['n_vocab'] : undefined;
    if (typeof size !== 'number' || !Number.isInteger(size) || size < 1 || size > maxVocabulary)
      throw this.#malformed('/v1/models', 'it has no size of the vocabulary (meta.n_vocab)');
    const content = Array.from({ length: size }, (_, token) => token);
    const { tokens } = await this.#post('/tokenize', { content, with_pieces: true }, signal);
    if (!Array.isArray(tokens) || tokens.length !== size)
      throw this.#malformed('/tokenize', 'it does not spell the tokens that it is given (with_pieces)');
    return tokens.map((entry: unknown) =>
      isObject(entry) && typeof entry['piece'] === 'string' ? entry['piece'] : '',
    );
  }

  /** @param special whether control strings in the text become control tokens. */
  async tokenize(
    content: string,
    {
      special,
      bos = false,
      signal,
    }: { readonly special: boolean; readonly bos?: boolean; readonly signal: AbortSignal },
  ): Promise<readonly number[]> {
    const body = { content, parse_special: special, add_special: bos };
    const { tokens } = await this.#post('/tokenize', body, signal);
    if (Array.isArray(tokens) && tokens.every((token) => typeof token === 'number')) return tokens;
    throw this.#malformed('/tokenize', 'it has no list of tokens');
  }

  /** Streams a completion. Ending the iteration before its end closes the connection, and the server stops. */
  async *complete(body: object, signal: AbortSignal): AsyncGenerator<RemoteCompletionPart, RemoteCompletionEnd> {
    const request = {
      ...body,
      ...this.#modelField,
      stream: true,
      return_tokens: true,
      return_progress: true,
      cache_prompt: true,
    };
    const events = this.connection.events({ path: '/completion', body: request, signal }, isEnd);
    for await (const event of events) {
      if (!isObject(event)) throw this.#malformed('/completion', 'an event is no object');
      if (event['error'] !== undefined) {
        const words = isObject(event['error']) ? event['error']['message'] : event['error'];
        const message = `${this.connection.url}/completion has failed: ${this.connection.withoutKey(String(words))}`;
        throw new ServerFault('INFERENCE_FAILED', message, { retryable: false });
      }
      if (isEnd(event)) return this.#end(event);
      yield this.#part(event);
    }
    const message = `${this.connection.url} has gone away in the middle of a response: its events end before the last one`;
    throw new ServerFault('ENGINE_CRASHED', message, { retryable: true });
  }

  #part(event: Readonly<Record<string, unknown>>): RemoteCompletionPart {
    const { content, tokens, tokens_predicted: generated, prompt_progress: progress } = event;
    if (isObject(progress)) {
      const { cache } = progress;
      const reused = typeof cache === 'number' ? cache : undefined;
      return { text: '', token: undefined, generated: 0, reused, logprobs: new Map() };
    }
    if (typeof content !== 'string' || !Array.isArray(tokens))
      throw this.#malformed('/completion', 'an event has no content and tokens');
    const token: unknown = tokens[0];
    return {
      text: content,
      token: typeof token === 'number' ? token : undefined,
      generated: typeof generated === 'number' ? generated : 0,
      reused: undefined,
      logprobs: readLogprobs(event['completion_probabilities']),
    };
  }

  #end(event: Readonly<Record<string, unknown>>): RemoteCompletionEnd {
    const { stop_type: reason, timings } = event;
    if (reason !== 'eos' && reason !== 'limit' && reason !== 'word')
      throw this.#malformed('/completion', `it ends for an unknown reason: ${String(reason)}`);
    const reused = isObject(timings) ? timings['cache_n'] : undefined;
    return { reason, reused: typeof reused === 'number' ? reused : 0 };
  }

  get #modelField(): object {
    return this.#model === undefined ? {} : { model: this.#model };
  }

  async #get(path: string, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    return this.#object(path, await this.connection.json({ path, signal }));
  }

  async #post(path: string, body: object, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>> {
    return this.#object(path, await this.connection.json({ path, body: { ...body, ...this.#modelField }, signal }));
  }

  #object(path: string, value: unknown): Readonly<Record<string, unknown>> {
    if (isObject(value)) return value;
    throw this.#malformed(path, 'it is no object');
  }

  #malformed(path: string, why: string): ServerFault {
    const message = `the response of ${this.connection.url}${path} cannot be used: ${why}`;
    return new ServerFault('INFERENCE_FAILED', message, { retryable: false });
  }
}

const maxVocabulary = 2_000_000;

function readLogprobs(probabilities: unknown): ReadonlyMap<number, number> {
  const found = new Map<number, number>();
  const add = (entry: unknown): void => {
    if (!isObject(entry)) return;
    const { id, logprob } = entry;
    if (typeof id === 'number' && typeof logprob === 'number') found.set(id, logprob);
  };
  const [first] = Array.isArray(probabilities) ? (probabilities as readonly unknown[]) : [];
  add(first);
  const top = isObject(first) ? first['top_logprobs'] : undefined;
  if (Array.isArray(top)) for (const entry of top) add(entry);
  return found;
}
