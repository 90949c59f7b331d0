import { Fault } from '../../protocol/fault.ts';

/** A failure that may be temporary (connection lost, stalled server, HTTP 429 or 5xx): `retry` waits and tries again. */
export class TransientError extends Error {
  /** Milliseconds that the server asks to wait (Retry-After); undefined = the backoff decides. */
  readonly waitMs: number | undefined;

  constructor(message: string, options: { readonly waitMs?: number | undefined; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.waitMs = options.waitMs;
  }
}

export interface RetryPolicy {
  /** Consecutive attempts without new bytes before giving up. */
  readonly maxAttempts: number;
  /** Milliseconds without a byte from the server after which a request counts as stalled. */
  readonly stallMs: number;
  /** Longest Retry-After in milliseconds that is waited for; a longer one ends the download. */
  readonly maxWaitMs: number;
  /** Waits for some milliseconds. @throws the signal's reason when it is aborted. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

export interface RetryOptions {
  /** What is downloaded: the beginning of each message. */
  readonly name: string;
  readonly policy: RetryPolicy;
  readonly signal: AbortSignal;
  /** Called before each wait with a message: what failed, and in how many seconds it is tried again. */
  readonly onRetry: (message: string) => void;
  /** Bytes so far. When it has grown since the last failure, the count of attempts starts over. */
  readonly progress: () => number;
}

/**
 * Retries an attempt that throws TransientError, with exponential backoff and jitter, or after the server's Retry-After.
 * Any other error ends it. Attempts that made progress do not count towards `maxAttempts`: a download over a bad line may
 * fail any number of times as long as each attempt brings new bytes.
 * @param attempt receives the number of failures before it.
 * @throws Fault DOWNLOAD_FAILED when the policy gives up; the signal's reason when it is aborted.
 */
export async function retry<T>(
  { name, policy, signal, onRetry, progress }: RetryOptions,
  attempt: (failures: number) => Promise<T>,
): Promise<T> {
  const { maxAttempts, maxWaitMs, wait } = policy;
  let [maxProgress, attemptsWithoutProgress] = [progress(), 0];
  for (let failures = 0; ; failures++) {
    try {
      signal.throwIfAborted();
      return await attempt(failures);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TransientError)) throw error;
      attemptsWithoutProgress = progress() > maxProgress ? 1 : attemptsWithoutProgress + 1;
      maxProgress = Math.max(maxProgress, progress());
      const waitMs = error.waitMs ?? backoffMs(attemptsWithoutProgress);
      const [failure, seconds] = [`${name}: ${error.message}`, Math.ceil(waitMs / 1000)];
      if (attemptsWithoutProgress >= maxAttempts)
        throw gaveUp(`${failure}; ${maxAttempts} tries in a row brought nothing, try later`, error);
      if (waitMs > maxWaitMs) throw gaveUp(`${failure} and asks to wait ${seconds} seconds; try later`, error);
      onRetry(`${failure}; trying again in ${seconds} s`);
      await wait(waitMs, signal);
    }
  }
}

const gaveUp = (message: string, cause: Error): Fault => new Fault('DOWNLOAD_FAILED', message, { cause });

const initialBackoffMs = 500;
const maxBackoffMs = 30_000;

// Doubled each time. The jitter of 25 % keeps clients that failed together from retrying together.
const backoffMs = (attemptsWithoutProgress: number): number =>
  Math.min(maxBackoffMs, initialBackoffMs * 2 ** (attemptsWithoutProgress - 1)) * (0.75 + Math.random() / 2);
