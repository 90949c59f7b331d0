import { Agent as HttpAgent, request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { describeError } from '../../fault.ts';
import { readEvents } from './eventStream.ts';
import type { RemoteTimeouts } from '../remoteModel.ts';
import { refusedBy, ServerFault } from './serverFault.ts';

/** A request to an inference server. */
export interface ServerRequest {
  readonly path: string;
  /** Sent as JSON by POST; undefined: GET. */
  readonly body?: object;
  readonly signal: AbortSignal;
}

/** Bytes of a response that is read as a whole. The vocabulary of a model is the largest. */
const maxResponseBytes = 64_000_000;

/** Connections to one inference server. They are kept open; one is closed to cancel what runs on it. */
export class HttpConnection implements Disposable {
  readonly url: string;
  readonly #base: URL;
  readonly #apiKey: string | undefined;
  readonly #timeouts: RemoteTimeouts;
  readonly #agent: HttpAgent | HttpsAgent;

  /** @param apiKey is sent with each request, and is in no message. */
  constructor(url: string, apiKey: string | undefined, timeouts: RemoteTimeouts) {
    this.url = url.replace(/\/+$/, '');
    this.#base = new URL(`${this.url}/`);
    this.#apiKey = apiKey;
    this.#timeouts = timeouts;
    this.#agent = new (this.#base.protocol === 'https:' ? HttpsAgent : HttpAgent)({ keepAlive: true });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }

  /** The JSON of a response. @throws ServerFault, or the reason of the signal. */
  async json(request: ServerRequest): Promise<unknown> {
    const response = await this.#send(request);
    const text = await this.#readText(response, request.signal);
    try {
      return JSON.parse(text);
    } catch (cause) {
      const message = `${this.url}${request.path} answers with something that is not JSON: ${text.slice(0, 100)}`;
      throw new ServerFault('INFERENCE_FAILED', message, { retryable: false, cause });
    }
  }

  /**
   * The events of a response, each of them JSON. Ending the iteration closes the connection.
   * @throws ServerFault, or the reason of the signal.
   */
  async *events(request: ServerRequest): AsyncGenerator<unknown> {
    const response = await this.#send(request);
    try {
      const chunks = this.#watched(response, request.signal);
      for await (const data of readEvents(chunks)) {
        if (data === '[DONE]') return;
        yield this.#parseEvent(request.path, data);
      }
    } finally {
      response.destroy();
    }
  }

  #parseEvent(path: string, data: string): unknown {
    try {
      return JSON.parse(data);
    } catch (cause) {
      const message = `${this.url}${path} sends an event that is not JSON: ${data.slice(0, 100)}`;
      throw new ServerFault('INFERENCE_FAILED', message, { retryable: false, cause });
    }
  }

  /** Sends a request and waits for the head of its response. */
  async #send({ path, body, signal }: ServerRequest): Promise<IncomingMessage> {
    signal.throwIfAborted();
    const text = body && JSON.stringify(body);
    const url = new URL(path.replace(/^\//, ''), this.#base);
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
      agent: this.#agent,
      method: text === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json, text/event-stream',
        ...(text !== undefined && {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(text)),
        }),
        ...(this.#apiKey !== undefined && { authorization: `Bearer ${this.#apiKey}` }),
      },
    });
    const response = await this.#head(request, text, signal);
    if (response.statusCode === 200) return response;
    const words = await this.#readText(response, signal).catch(() => '');
    throw refusedBy(this.url + path, response, words);
  }

  #head(request: ClientRequest, text: string | undefined, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const fail = (reason: unknown): void => {
        settle();
        request.destroy();
        reject(reason);
      };
      const unreachable = (message: string, cause?: unknown): void =>
        fail(
          new ServerFault('INFERENCE_FAILED', `${this.url} ${message}`, { retryable: true, unreachable: true, cause }),
        );
      const slow = (message: string): void =>
        fail(new ServerFault('INFERENCE_FAILED', `${this.url} ${message}`, { retryable: false }));
      const { connectMs, firstByteMs } = this.#timeouts;
      const connecting = setTimeout(() => unreachable(`cannot be reached within ${connectMs} ms`), connectMs);
      const answering = setTimeout(() => slow(`has not answered within ${firstByteMs} ms`), firstByteMs);
      const onAbort = (): void => fail(signal.reason);
      const settle = (): void => {
        clearTimeout(connecting);
        clearTimeout(answering);
        signal.removeEventListener('abort', onAbort);
      };
      signal.addEventListener('abort', onAbort);
      request.on('socket', (socket) => {
        if (socket.connecting) socket.once('connect', () => clearTimeout(connecting));
        else clearTimeout(connecting);
      });
      // Stays for the life of the request: an error after its response would end the process.
      request.on('error', (cause) => unreachable(`cannot be reached: ${describeError(cause)}`, cause));
      request.on('response', (response) => {
        settle();
        resolve(response);
      });
      request.end(text);
    });
  }

  async #readText(response: IncomingMessage, signal: AbortSignal): Promise<string> {
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    for await (const chunk of this.#watched(response, signal)) {
      bytes += chunk.length;
      if (bytes > maxResponseBytes) {
        const message = `${this.url} answers with more than ${maxResponseBytes} bytes`;
        throw new ServerFault('INFERENCE_FAILED', message, { retryable: false });
      }
      chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  /** The chunks of a response; an error when it stalls or breaks off. No more is read than what is asked for. */
  async *#watched(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const { idleMs } = this.#timeouts;
    let stalled = false;
    let timer: NodeJS.Timeout | undefined;
    const onAbort = (): void => void response.destroy();
    signal.addEventListener('abort', onAbort);
    const iterator = response[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    try {
      for (;;) {
        // Not while the reader waits: what it has not asked for cannot stall.
        timer = setTimeout(() => {
          stalled = true;
          response.destroy();
        }, idleMs);
        const next = await iterator.next();
        clearTimeout(timer);
        signal.throwIfAborted();
        if (stalled) break;
        if (next.done) return;
        yield next.value;
      }
    } catch (cause) {
      signal.throwIfAborted();
      if (!stalled) {
        const message = `${this.url} has gone away in the middle of a response: ${describeError(cause)}`;
        throw new ServerFault('ENGINE_CRASHED', message, { retryable: true, cause });
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
    const message = `${this.url} has stalled: nothing has come for ${idleMs} ms`;
    throw new ServerFault('INFERENCE_FAILED', message, { retryable: false });
  }
}
