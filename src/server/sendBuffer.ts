/** Water marks of the send buffer, and the timeout of a slow reader. */
export interface SendBufferLimits {
  /** High-water mark in bytes: generation pauses above it. */
  readonly highWaterMark: number;
  /** Low-water mark in bytes: generation resumes below it. */
  readonly lowWaterMark: number;
  /** Max milliseconds of one pause; then the connection is closed. */
  readonly slowReaderTimeoutMs: number;
}

export const defaultSendBufferLimits: SendBufferLimits = {
  highWaterMark: 1024 * 1024,
  lowWaterMark: 256 * 1024,
  slowReaderTimeoutMs: 60_000,
};

export type SendBuffer = ReturnType<typeof createSendBuffer>;

/**
 * Send buffer of one client: counts the unsent bytes and applies backpressure. Above the high-water mark `drained()`
 * gives a promise for turns to wait on; it resolves below the low-water mark. The connection of a client that has not
 * caught up within `slowReaderTimeoutMs` is closed.
 * @param onSlowReader is called when a pause exceeds `slowReaderTimeoutMs`.
 * @param onPause when one begins.
 */
export function createSendBuffer(limits: SendBufferLimits, onSlowReader: () => void, onPause: () => void) {
  let unsent = 0;
  let hasEnded = false;
  let pause:
    { readonly promise: Promise<void>; readonly resume: () => void; readonly timeout: NodeJS.Timeout } | undefined;
  const resume = (): void => {
    clearTimeout(pause?.timeout);
    pause?.resume();
    pause = undefined;
  };
  const startPause = (): void => {
    if (pause || hasEnded) return;
    onPause();
    let resolvePause = (): void => undefined;
    const promise = new Promise<void>((resolve) => (resolvePause = resolve));
    const timeout = setTimeout(onSlowReader, limits.slowReaderTimeoutMs).unref();
    pause = { promise, resume: resolvePause, timeout };
  };
  return {
    /** Bytes that were written, but not sent yet. */
    get unsent(): number {
      return unsent;
    },
    /** Counts bytes as unsent until the returned function is called. */
    track(bytes: number): () => void {
      unsent += bytes;
      if (unsent > limits.highWaterMark) startPause();
      return () => {
        unsent -= bytes;
        if (unsent < limits.lowWaterMark) resume();
      };
    },
    /** Undefined while the client reads fast enough; else a promise that resolves when it has caught up. */
    drained: (): Promise<void> | undefined => pause?.promise,
    /** Ends backpressure for good, when the connection closes: the remaining frames are written without waiting. */
    end(): void {
      hasEnded = true;
      resume();
    },
  };
}
