import { setMaxListeners } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { EitherSignal, track } from '../../base/abort.ts';
import type { ServerContext } from '../session/session.ts';
import { ApiError, invalidBody, invalidField, unwrapBody } from './apiError.ts';
import { complete, type CompletionOutput } from './completion.ts';
import { completionBody, newHead, eventStream } from './completionResponse.ts';
import { createSendBuffer, type SendBuffer, type SendBufferLimits } from '../sendBuffer.ts';
import { corsHeaders, preflightHeaders, modelNameIn, routeOf, type ApiRoute } from './routes.ts';
import { listModels, readModel, planRequest } from './planRequest.ts';
import { readBody, readRequest } from './readRequest.ts';
import type { Embeddings } from '../../inference/contract/model.ts';
import { Fault } from '../../protocol/fault.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { purposeProblem } from '../../inference/models/catalogue/catalogue.ts';
import { createReader } from '../../protocol/schema.ts';
import { closedObject } from '../../protocol/schemaBuilders.ts';

export interface ApiOptions {
  readonly context: ServerContext;
  /** Why no completion may begin now; undefined: it may. */
  readonly findExcess: () => string | undefined;
  /** Called for each refused or failed request; the facts have no text of a user. */
  readonly onRefused: (facts: { readonly status: number; readonly error: string; readonly param: string }) => void;
  /** Backpressure of each stream. */
  readonly sendBuffer: SendBufferLimits;
  /** Called with the socket of a request that may begin. */
  readonly onAdmitted: (socket: Socket) => void;
}

const finalTimeoutMs = 30_000;

/** The OpenAI-compatible API: answers the requests under /v1. Disposing of it cancels what runs. */
export class OpenAiApi implements AsyncDisposable {
  readonly #options: ApiOptions;
  readonly #running = new Set<Promise<unknown>>();
  readonly #buffers = new Set<SendBuffer>();
  readonly #disposal = new AbortController();

  constructor(options: ApiOptions) {
    this.#options = options;
    // Each completion adds a listener; Node warns of a leak above ten.
    setMaxListeners(0, this.#disposal.signal);
  }

  get running(): number {
    return this.#running.size;
  }

  /** Unsent bytes and backpressure of the streams, for the metrics. */
  get outputs(): readonly Pick<SendBuffer, 'unsent' | 'drained'>[] {
    return [...this.#buffers];
  }

  /** Resolves when nothing runs. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.allSettled(this.#running);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposal.abort();
    await this.idle();
  }

  /** Answers a request for a path of the API. Never rejects. */
  async answer(
    request: IncomingMessage,
    response: ServerResponse,
    path: string,
    denied: { readonly status: 401 | 403; readonly reason: string } | undefined,
  ): Promise<void> {
    response.shouldKeepAlive &&= !denied && request.method === 'GET';
    let isSent = false;
    response.once('finish', () => (isSent = true));
    response.once('close', () => {
      const status = isSent ? `${response.statusCode}` : 'aborted';
      this.#options.context.metrics.add('turngraph_openai_requests_total', { route: routeOf(path), status });
    });
    try {
      // A page asks for permission without the token.
      if (request.method === 'OPTIONS' && denied?.status !== 403)
        return void response.writeHead(204, preflightHeaders(request)).end();
      if (denied?.status !== 403)
        for (const [name, value] of Object.entries(corsHeaders(request))) response.setHeader(name, value);
      if (denied) throw new ApiError(denied.reason, { status: denied.status, code: denialCodes[denied.status] });
      await this.#route(request, response, path);
    } catch (error) {
      this.#fail(response, error);
    }
  }

  async #route(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const { context } = this.#options;
    const { method = '' } = request;
    const route = routeOf(path);
    const computes = route === 'chat_completions' || route === 'embeddings';
    const allowed = computes ? ['POST'] : ['GET', 'HEAD'];
    if (route === 'other')
      throw new ApiError(`nothing is at ${path}; there are /v1/models, /v1/chat/completions and /v1/embeddings`, {
        status: 404,
        code: 'unknown_url',
      });
    if (!allowed.includes(method)) {
      response.setHeader('allow', allowed.join(', '));
      throw new ApiError(`${method} is not allowed here; use ${allowed[0]}`, {
        status: 405,
        code: 'method_not_allowed',
      });
    }
    if (computes) return this.#admit(request, response, route);
    const body = route === 'models' ? await listModels(context) : await readModel(modelNameIn(path), context);
    sendJson(response, 200, body);
  }

  #admit(request: IncomingMessage, response: ServerResponse, route: ApiRoute): Promise<void> {
    const { context, findExcess, onAdmitted } = this.#options;
    context.closing.throwIfAborted();
    const excess = findExcess();
    if (excess !== undefined) throw new ApiError(excess, { status: 429, code: 'rate_limit_exceeded' });
    onAdmitted(request.socket);
    return track(this.#running, this.#compute(request, response, route));
  }

  async #compute(request: IncomingMessage, response: ServerResponse, route: ApiRoute): Promise<void> {
    const { context } = this.#options;
    // A request that is not read to its end has no socket any more.
    const { socket } = request;
    const closing = new AbortController();
    const onClose = (): void => closing.abort();
    response.once('close', onClose);
    using either = new EitherSignal([closing.signal, this.#disposal.signal]);
    const { signal } = either;
    try {
      const body = await readBody(request, response);
      if (route === 'embeddings') {
        socket.setTimeout(0);
        return sendJson(response, 200, await createEmbeddings(body, context, signal));
      }
      const chat = readRequest(body);
      const plan = await planRequest(chat, context);
      // The turn has its own timeout, and may say nothing for long.
      socket.setTimeout(0);
      const head = newHead(chat.model);
      if (chat.stream) {
        const buffer = this.#openBuffer(response);
        const includeUsage = chat.stream_options.include_usage ?? false;
        const stream = eventStream(response, { head, includeUsage, buffer });
        try {
          stream.end(await complete(context, plan, stream, signal));
        } catch (error) {
          // The client has closed its connection: there is no one to tell.
          if (!response.headersSent || response.destroyed) throw error;
          stream.fail(this.#toError(error));
        }
      } else {
        const [texts, calls]: [string[], Parameters<CompletionOutput['call']>[0][]] = [[], []];
        const output: CompletionOutput = {
          text: (piece) => void texts.push(piece),
          call: (call) => void calls.push(call),
          backpressure: () => undefined,
        };
        const end = await complete(context, plan, output, signal);
        sendJson(response, 200, completionBody(head, { text: texts.join(''), calls }, end));
      }
    } finally {
      response.off('close', onClose);
      socket.setTimeout(finalTimeoutMs);
    }
  }

  /** The send buffer of a stream: a client that does not read it for too long loses its connection. */
  #openBuffer(response: ServerResponse): SendBuffer {
    const { context, sendBuffer } = this.#options;
    const onPause = (): void => context.metrics.add('turngraph_slow_reader_pauses_total', {});
    const buffer = createSendBuffer(sendBuffer, () => response.destroy(), onPause);
    this.#buffers.add(buffer);
    response.once('close', () => {
      this.#buffers.delete(buffer);
      buffer.end();
    });
    return buffer;
  }

  #fail(response: ServerResponse, thrown: unknown): void {
    if (response.destroyed) return;
    const error = this.#toError(thrown);
    sendJson(response, error.status, error.body);
  }

  #toError(thrown: unknown): ApiError {
    const { closing, log } = this.#options.context;
    const cause: unknown = closing.aborted && !(thrown instanceof ApiError) ? closing.reason : thrown;
    const error = ApiError.from(cause);
    const { status, code = '', param = '' } = error;
    // The name of an unknown field is what a client wrote.
    this.#options.onRefused({ status, error: code, param: code === 'unsupported_parameter' ? '' : param });
    if (error.code === 'internal') log.error({ err: cause }, 'request of the OpenAI-compatible API failed');
    return error;
  }
}

const denialCodes = { 401: 'invalid_api_key', 403: 'forbidden' } as const;

function sendJson(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(`${JSON.stringify(body)}\n`);
}

/** Max texts of one request, as OpenAI has it. */
const maxTexts = 2048;

const embeddingsSchema = closedObject(['model', 'input'], {
  model: { type: 'string', minLength: 1 },
  input: { description: 'A text, or a list of texts.' },
  encoding_format: { type: 'string', enum: ['float', 'base64'], default: 'float' },
  dimensions: { type: 'integer', minimum: 1 },
  user: { type: 'string', description: 'It is not read.' },
});

const readFields = createReader(embeddingsSchema);

/** The response of POST /v1/embeddings. @throws ApiError for a field, the Fault of a load, the signal's reason. */
async function createEmbeddings(
  body: unknown,
  { pools: { 'llama-cpp': pool } }: Pick<ServerContext, 'pools'>,
  signal: AbortSignal,
): Promise<object> {
  if (!isObject(body)) throw invalidBody('must be a JSON object, with model and input');
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  const request = unwrapBody(readFields(given), embeddingsSchema);
  const { model: name, input, encoding_format: encoding, dimensions } = request;
  const texts = readInput(input);
  const problem = purposeProblem(pool.entry(name), 'embedding', pool.catalogue);
  if (problem !== undefined) throw invalidField('model', problem, 'invalid_value');
  await using lease = await pool.lease(name, { signal });
  const { embedding, embed } = lease.model;
  if (!embedding || !embed) throw invalidField('model', `"${name}" is run by an engine without embeddings`);
  if (dimensions !== undefined && dimensions !== embedding.dimensions)
    throw invalidField(
      'dimensions',
      `must be ${embedding.dimensions}, as "${name}" has it: its vectors are not cut; leave it out`,
      'invalid_value',
    );
  const { vectors, tokens } = await embed.call(lease.model, texts, { signal }).catch(explainLongText);
  const prompt_tokens = tokens.reduce((sum, count) => sum + count, 0);
  return {
    object: 'list',
    data: vectors.map((vector, index) => ({ object: 'embedding', index, embedding: encode(vector, encoding) })),
    model: name,
    usage: { prompt_tokens, total_tokens: prompt_tokens },
  };
}

function readInput(input: unknown): readonly string[] {
  const invalid = (param: string, message: string): ApiError => invalidField(param, message, 'invalid_value');
  const list: readonly unknown[] = Array.isArray(input) ? input : [input];
  if (list.length === 0) throw invalid('input', 'must not be empty');
  if (list.length > maxTexts) throw invalid('input', `has ${list.length} texts, and ${maxTexts} are allowed`);
  return list.map((text, index) => {
    const param = Array.isArray(input) ? `input[${index}]` : 'input';
    if (typeof text === 'number' || Array.isArray(text))
      throw invalid('input', 'has token ids, which are those of another tokenizer; send texts');
    if (typeof text !== 'string') throw invalid(param, 'must be a text');
    if (text === '') throw invalid(param, 'must not be empty');
    return text;
  });
}

function encode(vector: Float32Array, encoding: 'float' | 'base64'): readonly number[] | string {
  if (encoding === 'float') return [...vector];
  const bytes = Buffer.alloc(4 * vector.length);
  for (const [index, value] of vector.entries()) bytes.writeFloatLE(value, 4 * index);
  return bytes.toString('base64');
}

function explainLongText(error: unknown): Embeddings {
  if (!(error instanceof Fault) || error.name !== 'PROMPT_TOO_LARGE') throw error;
  throw invalidField('input', error.message, 'context_length_exceeded');
}
