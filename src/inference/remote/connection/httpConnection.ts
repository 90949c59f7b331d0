import { setMaxListeners } from 'node:events';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { finished } from 'node:stream';
import { type Environment, type HttpRoute, lastingProblem, routeTo } from '../../../base/httpRoute.ts';
import { describeError } from '../../../protocol/fault.ts';
import { refusedBy, ServerFault } from './serverFault.ts';

/** How long an inference server may take, in milliseconds. */
export interface RemoteTimeouts {
  /** Until a connection is open. */
  readonly connectMs: number;
  /** From a request to the head of its response, and from there to the first event: the prefill of a long prompt is in it. */
  readonly firstByteMs: number;
  /** Between two events of a response. Comments are none. */
  readonly idleMs: number;
  /** From one failed attempt to the next; twice as long after each. */
  readonly retryMs: number;
  /** For which an endpoint that has failed several times is not asked. */
  readonly breakMs: number;
  /** Since the last answer, after which a server is asked what it serves before it is used: it may have been exchanged. */
  readonly recheckMs: number;
}

export const defaultTimeouts: RemoteTimeouts = {
  connectMs: 5_000,
  firstByteMs: 120_000,
  idleMs: 60_000,
  retryMs: 250,
  breakMs: 10_000,
  // Less than a server takes to end, and another one to load a model.
  recheckMs: 1_000,
};

export interface ServerRequest {
  readonly path: string;
  /** Sent as JSON by POST; undefined: GET. */
  readonly body?: object;
  readonly signal: AbortSignal;
}

/** Bytes of a response that is read as a whole. The vocabulary of a model is the largest. */
const maxResponseBytes = 64_000_000;
/** Bytes of an error response. What is beyond them is not read. */
const maxErrorBytes = 64_000;

/** Connections to one inference server. They are kept open; one is closed to cancel what runs on it. */
export class HttpConnection implements Disposable {
  readonly url: string;
  readonly #base: URL;
  readonly #apiKey: string | undefined;
  readonly #timeouts: RemoteTimeouts;
  readonly #route: HttpRoute;
  readonly #ready: ((signal: AbortSignal) => Promise<void>) | undefined;

  /** @param apiKey is in requests, not in messages. @param env names the proxy. @param ready precedes each request. */
  constructor(
    url: string,
    apiKey: string | undefined,
    timeouts: RemoteTimeouts,
    env: Environment,
    ready?: (signal: AbortSignal) => Promise<void>,
  ) {
    this.url = url.replace(/(?<!\/)\/+$/, '');
    this.#base = new URL(`${this.url}/`);
    this.#apiKey = apiKey;
    this.#timeouts = timeouts;
    this.#route = routeTo(this.#base, env, true);
    this.#ready = ready;
  }

  [Symbol.dispose](): void {
    this.#route[Symbol.dispose]();
  }

  /** The JSON of a response. @throws ServerFault, or the reason of the signal. */
  async json(request: ServerRequest): Promise<unknown> {
    const text = await this.#readText(await this.#send(request), request.signal);
    return this.#parse(text, `${request.path} answers with something that is not JSON`);
  }

  /**
   * The events of a response, each of them JSON. Ending the iteration before the last one closes the connection.
   * @param isLast whether the server has nothing to say after an event; the connection is kept for the next request then.
   * @throws ServerFault, or the reason of the signal.
   */
  async *events(request: ServerRequest, isLast: (event: unknown) => boolean): AsyncGenerator<unknown> {
    const response = await this.#send(request);
    const { firstByteMs, idleMs } = this.#timeouts;
    const timeout = idleTimeout('no event', firstByteMs);
    let isComplete = false;
    try {
      const chunks = this.#watched(response, request.signal, timeout);
      for await (const data of readEvents(chunks)) {
        isComplete = data === '[DONE]';
        if (isComplete) return;
        const event = this.#parse(data, `${request.path} sends an event that is not JSON`);
        isComplete = isLast(event);
        yield event;
        // From here on: what the reader has not asked for cannot stall.
        timeout.renew(idleMs);
      }
    } catch (cause) {
      if (!(cause instanceof UnusableStream)) throw cause;
      const message = `${this.url}${request.path} sends a stream that cannot be used: ${this.withoutKey(cause.message)}`;
      throw new ServerFault(message, { cause });
    } finally {
      if (isComplete) drainResponse(response);
      else response.destroy();
    }
  }

  /** A text of the server without the API key, which some servers repeat in their errors. */
  withoutKey(text: string): string {
    return this.#apiKey === undefined ? text : text.replaceAll(this.#apiKey, '[API key]');
  }

  #parse(text: string, problem: string): unknown {
    try {
      return JSON.parse(text);
    } catch {
      // Without the error of the parser: it quotes the text, which may have the key.
      throw new ServerFault(`${this.url}${problem}: ${this.withoutKey(text).slice(0, 100)}`);
    }
  }

  async #send({ path, body, signal }: ServerRequest): Promise<IncomingMessage> {
    const text = body && JSON.stringify(body);
    signal.throwIfAborted();
    // One load sends a request for each control token, all with one signal.
    setMaxListeners(0, signal);
    await this.#ready?.(signal);
    const response = await this.#head(this.#request(path, text), text, signal);
    if (response.statusCode === 200) return response;
    const words = await this.#readText(response, signal, maxErrorBytes).catch(() => '');
    throw refusedBy(this.url + path, response, this.withoutKey(words));
  }

  #request(path: string, text: string | undefined): ClientRequest {
    const url = new URL(path.replace(/^\//, ''), this.#base);
    return this.#route.request(url, {
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
  }

  #head(request: ClientRequest, text: string | undefined, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const fail = (reason: unknown): void => {
        settle();
        request.destroy();
        reject(reason);
      };
      const unreachable = (message: string, cause?: unknown, retryable = true): void =>
        fail(new ServerFault(`${this.url} ${message}`, { retryable, unreachable: true, cause }));
      const { connectMs, firstByteMs } = this.#timeouts;
      const connecting = setTimeout(() => unreachable(`cannot be reached within ${connectMs} ms`), connectMs);
      const answering = setTimeout(
        () => fail(new ServerFault(`${this.url} has not answered within ${firstByteMs} ms`)),
        firstByteMs,
      );
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
      request.on('error', (cause) => {
        const lasting = lastingProblem(cause);
        unreachable(`cannot be reached: ${lasting ?? describeError(cause)}`, cause, lasting === undefined);
      });
      request.on('response', (response) => {
        settle();
        resolve(response);
      });
      request.end(text);
    });
  }

  /** A whole response. One that comes byte by byte is not waited for: nothing of it can be used before its end. */
  async #readText(response: IncomingMessage, signal: AbortSignal, maxBytes = maxResponseBytes): Promise<string> {
    const { firstByteMs, idleMs } = this.#timeouts;
    const end = performance.now() + firstByteMs;
    const timeout = idleTimeout('nothing', idleMs);
    const chunks: Uint8Array[] = [];
    let bytes = 0;
    try {
      for await (const chunk of this.#watched(response, signal, timeout)) {
        bytes += chunk.length;
        if (bytes > maxBytes) throw new ServerFault(`${this.url} answers with more than ${maxBytes} bytes`);
        if (performance.now() > end)
          throw new ServerFault(`${this.url} has not sent its whole response within ${firstByteMs} ms`);
        chunks.push(chunk);
        timeout.renew(idleMs);
      }
    } catch (error) {
      response.destroy();
      throw error;
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  /** The chunks of a response; an error when it stalls or breaks off. No more is read than what is asked for. */
  async *#watched(response: IncomingMessage, signal: AbortSignal, timeout: IdleTimeout): AsyncGenerator<Uint8Array> {
    let stalled = false;
    let timer: NodeJS.Timeout | undefined;
    const onAbort = (): void => void response.destroy();
    signal.addEventListener('abort', onAbort);
    const iterator = response.iterator({ destroyOnReturn: false });
    try {
      for (;;) {
        timer = setTimeout(() => {
          stalled = true;
          response.destroy();
        }, timeout.leftMs());
        const next = await iterator.next();
        clearTimeout(timer);
        signal.throwIfAborted();
        // Chunks without an event may come so fast that no timer runs.
        stalled ||= !next.done && timeout.isLongOver();
        if (stalled) break;
        if (next.done) return;
        yield next.value as Uint8Array;
      }
    } catch (cause) {
      signal.throwIfAborted();
      if (!stalled) {
        const message = `${this.url} has gone away in the middle of a response: ${describeError(cause)}`;
        throw new ServerFault(message, { name: 'ENGINE_CRASHED', retryable: true, cause });
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      // Without its listeners the rest of the response can be drained.
      void iterator.return?.();
    }
    throw new ServerFault(`${this.url} has stalled: ${timeout.problem()}`);
  }
}

type IdleTimeout = ReturnType<typeof idleTimeout>;

/** How long a response may bring nothing that counts. */
function idleTimeout(what: string, firstLimitMs: number) {
  let [limitMs, since] = [firstLimitMs, performance.now()];
  const waitedMs = (): number => performance.now() - since;
  return {
    /** Why the response is given up. */
    problem: (): string => `${what} has come for ${limitMs} ms`,
    /** Milliseconds that are left; 0 = none. */
    leftMs: (): number => Math.max(0, limitMs - waitedMs()),
    /** Whether it has been over for as long again: what comes without counting keeps timers from running. */
    isLongOver: (): boolean => waitedMs() > 2 * limitMs,
    /** Begins anew: what counts has come, or is asked for from now on. */
    renew: (ms: number): void => void ([limitMs, since] = [ms, performance.now()]),
  };
}

/** How long a response may take to end after its last event. */
const maxDrainMs = 1000;

/**
 * Reads a response to its end, so that the next request can use its connection. One that does not end soon is closed, and
 * so is that of a llama-server: it promises to keep the connection and closes it 0.3 ms after a stream (seen in a build of
 * June 2026), when the next request may be under way.
 */
function drainResponse(response: IncomingMessage): void {
  if (response.headers.server === 'llama.cpp') {
    response.destroy();
    return;
  }
  const timer = setTimeout(() => response.destroy(), maxDrainMs);
  timer.unref();
  finished(response, () => clearTimeout(timer));
  response.resume();
}

/** Characters of one event. A larger one is no token. */
const maxEventLength = 4_000_000;

/** A stream has a larger event than any that has a token, or no events. */
class UnusableStream extends Error {}

/** The data of each server-sent event, in order. Comments and other fields are left out. @throws UnusableStream */
export async function* readEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let pending = '';
  let endsInReturn = false;
  let data: string[] = [];
  let length = 0;
  let hasEvents = false;
  let firstWords = '';
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true });
    pending += text;
    // Looked at again for each piece, a long line would take quadratic time.
    const lines = endsInReturn || /[\r\n]/.test(text) ? pending.split(/\r\n|\n|\r(?!$)/) : [pending];
    endsInReturn = text.endsWith('\r') || (endsInReturn && text === '');
    pending = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        hasEvents ||= data.length > 0;
        if (data.length > 0) yield data.join('\n');
        data = [];
        length = 0;
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line.startsWith('data: ') ? 6 : 5));
        // An empty line of data takes memory, too.
        length += line.length;
      } else firstWords ||= readWords(line);
    }
    if (pending.length + length > maxEventLength)
      throw new UnusableStream(`an event has more than ${maxEventLength} characters`);
  }
  firstWords ||= readWords(pending);
  if (!hasEvents && firstWords !== '') throw noEvents(firstWords);
}

const noEvents = (line: string): UnusableStream =>
  new UnusableStream(`it has no events, but ${line.trim().slice(0, 100)}: check base_url in models.json`);

/** A line that begins no field of an event; "" = it does. @throws UnusableStream for HTML or JSON */
function readWords(line: string): string {
  if (/^\s*[<{[]/.test(line)) throw noEvents(line);
  return /^(?:data|event|id|retry)?:/.test(line) ? '' : line.trim();
}
