import { Fault } from '../protocol/fault.ts';
import type { ServerFrame } from '../protocol/frames.gen.ts';

/** Options of a request. */
export interface RequestOptions {
  /**
   * Stops waiting; the promise rejects with the signal's reason. The server still handles the request, unless it has not
   * been sent for want of a connection.
   */
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds until the promise rejects with TIMEOUT; default: none. */
  readonly timeoutMs?: number | undefined;
  /** Called with each frame that answers the request, the final response included. */
  readonly onFrame?: ((frame: ServerFrame) => void) | undefined;
}

/** Calls `reject` when the signal is aborted or the timeout expires; the returned function releases both. */
export function rejectOnAbort(reject: (reason: unknown) => void, name: string, options: RequestOptions): () => void {
  const { signal, timeoutMs } = options;
  const onAbort = (): void => reject(signal?.reason);
  const onTimeout = (): void => reject(new Fault('TIMEOUT', `${name} had no answer within ${timeoutMs} ms`));
  const timer = timeoutMs === undefined ? undefined : setTimeout(onTimeout, timeoutMs);
  signal?.addEventListener('abort', onAbort, { once: true });
  return () => {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  };
}
