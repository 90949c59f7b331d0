import { Fault, malformed } from '../protocol/fault.ts';
import type { ServerFrame } from '../protocol/frames.gen.ts';

/** Options of a request. */
export interface RequestOptions {
  /**
   * Stops waiting; the promise rejects with the signal's reason. The server still handles the request, unless it has not
   * been sent for want of a connection.
   */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the promise rejects with TIMEOUT; default: see `ClientLimits`. */
  readonly timeoutMs?: number | undefined;
  /** Called with each frame that answers the request, the final response included. */
  readonly onFrame?: ((frame: ServerFrame) => void) | undefined;
}

/** Options of a request of the client's own methods. */
export interface InternalRequestOptions extends RequestOptions {
  /** Called when the client gives up: by a limit, by the signal, or because `onFrame` throws. Tells the server to stop. */
  readonly onGiveUp?: (() => void) | undefined;
}

/** What a client takes from a server that hangs, is broken or malicious. */
export interface ClientLimits {
  /** Milliseconds until a request without an answer rejects with TIMEOUT; default: 60,000. */
  readonly requestTimeoutMs?: number;
  /**
   * Instead of it for turns, and for requests that load or search: milliseconds without a frame that brings something new.
   * Default: 300,000, more than `--turn-timeout` of the server and `results_timeout_ms` of a graph.
   */
  readonly idleTimeoutMs?: number;
  /** Max bytes of a frame; a larger one ends the connection. Default: 1 MiB; a server's frames have at most 60 KiB. */
  readonly maxFrameBytes?: number;
  /** Max bytes of all frames that answer one request; default: 16 MiB. */
  readonly maxAnswerBytes?: number;
}

/** The values of `ClientLimits` that are not given. */
export const defaultClientLimits: Required<ClientLimits> = {
  requestTimeoutMs: 60_000,
  idleTimeoutMs: 300_000,
  maxFrameBytes: 2 ** 20,
  maxAnswerBytes: 2 ** 24,
};

const slowRequests = /^(?:createAgent|sendMessage|loadModel|downloadModel|createStringStorage|searchStorage)$/;

/**
 * Watches the answer to a request: calls `fail` with a Fault TIMEOUT, or with the reason of the signal. Idle time begins
 * again while `isPaused`.
 * @returns `count`, which throws a Fault LIMIT_EXCEEDED, `giveUp`, and `end`, which ends the watch.
 */
export function watchAnswer(
  name: string,
  limits: Required<ClientLimits>,
  { timeoutMs, signal, onGiveUp }: InternalRequestOptions,
  isPaused: () => boolean,
  fail: (reason: unknown) => void,
) {
  const isIdle = timeoutMs === undefined && slowRequests.test(name);
  const limit = isIdle ? 'idleTimeoutMs' : 'requestTimeoutMs';
  const limitMs = timeoutMs ?? limits[limit];
  const giveUp = (reason: unknown): void => {
    onGiveUp?.();
    fail(reason);
  };
  const expire = (): void => {
    if (isIdle && isPaused()) return begin();
    const what = isIdle ? 'nothing new for' : 'no answer within';
    const advice = timeoutMs === undefined ? `; if it may take longer, raise limits.${limit} of connect` : '';
    giveUp(new Fault('TIMEOUT', `${name} had ${what} ${limitMs} ms${advice}`));
  };
  let timer: ReturnType<typeof setTimeout> | undefined;
  const begin = (): void => {
    clearTimeout(timer);
    timer = setTimeout(expire, limitMs);
  };
  const onAbort = (): void => giveUp(signal?.reason);
  signal?.addEventListener('abort', onAbort);
  begin();
  let lastProgress = '';
  let sum = 0;
  const count = (frame: ServerFrame, bytes: number): void => {
    const progress = frame.body === 'modelProgress' ? JSON.stringify(frame.modelProgress) : '';
    if (isIdle && (progress === '' || progress !== lastProgress)) begin();
    lastProgress = progress;
    if ((sum += bytes) <= limits.maxAnswerBytes) return;
    const what = `the answer to ${name} has more than ${limits.maxAnswerBytes} bytes`;
    throw new Fault('LIMIT_EXCEEDED', `${what}; ask for less, or raise limits.maxAnswerBytes of connect`);
  };
  const end = (): void => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  };
  return { count, giveUp, end };
}

const maxPages = 256;

/** All items of a list in pages. @throws Fault MALFORMED_MESSAGE for a page that comes twice, LIMIT_EXCEEDED */
export async function readPages<Item>(
  list: string,
  read: (cursor: string) => Promise<{ readonly items: readonly Item[]; readonly next: string | undefined }>,
): Promise<readonly Item[]> {
  const pages: (readonly Item[])[] = [];
  const cursors = new Set<string>();
  for (let cursor = ''; ;) {
    const { items, next } = await read(cursor);
    pages.push(items);
    if (!next) return pages.flat();
    if (cursors.has(next)) throw malformed(`${list} has the page "${next}" twice`);
    if (pages.length >= maxPages)
      throw new Fault('LIMIT_EXCEEDED', `${list} has more than ${maxPages} pages; the server does not end it`);
    cursors.add((cursor = next));
  }
}
