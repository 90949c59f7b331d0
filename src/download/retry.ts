import { Fault } from '../fault.ts';

/** A failure that may pass: it is waited for and tried again. */
export class TransientError extends Error {
  /** Milliseconds that the server asks to wait. */
  readonly waitMs: number | undefined;

  constructor(message: string, options: { readonly waitMs?: number | undefined; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.waitMs = options.waitMs;
  }
}

/** How long a download waits, and how often it tries. */
export interface RetryPolicy {
  /** Tries in a row that may bring nothing new. */
  readonly maxAttempts: number;
  /** Milliseconds in which a server must send something. */
  readonly stallMs: number;
  /** The longest time in milliseconds that a server may ask us to wait. */
  readonly maxWaitMs: number;
  /** Waits some milliseconds. @throws the reason of the signal when it is aborted. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** What is done until it works. */
export interface RetryOptions {
  /** What it is about, for sentences. */
  readonly name: string;
  readonly policy: RetryPolicy;
  readonly signal: AbortSignal;
  /** Told what went wrong and when it is tried again. */
  readonly onRetry: (sentence: string) => void;
  /** A number that grows as something new comes. */
  readonly progress: () => number;
}

/** Tries until it works, fails for good, or brings nothing new so many times in a row. @throws Fault DOWNLOAD_FAILED */
export async function retry<T>(
  { name, policy, signal, onRetry, progress }: RetryOptions,
  attempt: (failures: number) => Promise<T>,
): Promise<T> {
  const { maxAttempts, maxWaitMs, wait } = policy;
  let [best, fruitless] = [progress(), 0];
  for (let failures = 0; ; failures++) {
    try {
      signal.throwIfAborted();
      return await attempt(failures);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TransientError)) throw error;
      fruitless = progress() > best ? 1 : fruitless + 1;
      best = Math.max(best, progress());
      const ms = error.waitMs ?? backoffMs(fruitless);
      const [what, seconds] = [`${name}: ${error.message}`, Math.ceil(ms / 1000)];
      if (fruitless >= maxAttempts)
        throw exhaustedFault(`${what}; ${maxAttempts} tries in a row brought nothing, try later`, error);
      if (ms > maxWaitMs) throw exhaustedFault(`${what} and asks to wait ${seconds} seconds; try later`, error);
      onRetry(`${what}; trying again in ${seconds} s`);
      await wait(ms, signal);
    }
  }
}

const exhaustedFault = (sentence: string, cause: Error): Fault => new Fault('DOWNLOAD_FAILED', sentence, { cause });

// Twice as long each time, and not the same for all who wait for one server.
const backoffMs = (failures: number): number =>
  Math.min(30_000, 500 * 2 ** (failures - 1)) * (0.75 + Math.random() / 2);

/** The Retry-After of an answer in milliseconds: it gives seconds, or a date. */
export function retryAfterMs(headers: Headers): number | undefined {
  const text = headers.get('retry-after');
  if (text === null) return undefined;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}
