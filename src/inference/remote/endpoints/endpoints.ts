import { setTimeout as sleep } from 'node:timers/promises';
import { describeError, Fault } from '../../../protocol/fault.ts';
import type { InferenceServer } from '../inferenceServer.ts';
import type { RemoteTimeouts } from '../connection/httpConnection.ts';
import type { RemoteSlots } from './remoteSlots.ts';
import { raceAbort } from '../../../base/abort.ts';
import { ServerFault } from '../connection/serverFault.ts';

/** Attempts of one request, the first one included. */
const maxAttempts = 3;

/** A server that asks for a longer wait is not waited for. */
const maxRetryAfterMs = 10_000;

interface AttemptOptions {
  /** The endpoint to ask first; undefined: the least busy one. */
  readonly wanted?: Endpoint | undefined;
  /** Whether another attempt must not be made: a part of the answer has been used. */
  readonly isOver?: (() => boolean) | undefined;
  readonly signal: AbortSignal;
}

/** The endpoints of one model: which of them is asked, and how often. */
export class Endpoints {
  readonly all: readonly Endpoint[];
  readonly #timeouts: RemoteTimeouts;

  constructor(all: readonly Endpoint[], timeouts: RemoteTimeouts) {
    this.all = all;
    this.#timeouts = timeouts;
  }

  /**
   * Sends a request, and again, to another endpoint where there is one, while it fails in a way that may pass.
   * @throws Fault of the last attempt, or the reason of the signal.
   */
  async attempt<T>(work: (endpoint: Endpoint) => Promise<T>, { wanted, isOver, signal }: AttemptOptions): Promise<T> {
    const failed = new Set<Endpoint>();
    for (let count = 1; ; count++) {
      const endpoint = this.#choose(wanted, failed);
      const start = performance.now();
      try {
        // Not when it is checked: others that choose now must see that it is busy.
        if (!endpoint.isChecked) await raceAbort(endpoint.check(), signal);
        const result = await work(endpoint);
        endpoint.succeeded();
        return result;
      } catch (error) {
        if (signal.aborted || !(error instanceof ServerFault)) throw error;
        const { retryable, status, retryAfterMs } = error;
        // It answers: that it refuses a request is no failure of the endpoint.
        if (!retryable && status > 0 && status < 500) endpoint.succeeded();
        else endpoint.failed(describeError(error), start, status === 0);
        if (!retryable || isOver?.() || count >= maxAttempts || retryAfterMs > maxRetryAfterMs) throw error;
        failed.add(endpoint);
        const hasOther = this.all.some((other) => !failed.has(other) && other.brokenMs === 0);
        const waitMs = Math.max(retryAfterMs, this.#timeouts.retryMs * 2 ** (count - 1));
        if (!hasOther) await sleep(waitMs, undefined, { signal }).catch(() => signal.throwIfAborted());
      }
    }
  }

  #choose(wanted: Endpoint | undefined, failed: ReadonlySet<Endpoint>): Endpoint {
    const working = this.all.filter(({ brokenMs }) => brokenMs === 0);
    if (wanted && working.includes(wanted) && !failed.has(wanted)) return wanted;
    const untried = this.#checked(working.filter((endpoint) => !failed.has(endpoint)));
    const [best] = (untried.length > 0 ? untried : working).toSorted((a, b) => a.load - b.load);
    if (best) return best;
    const [first] = this.all.toSorted((a, b) => a.brokenMs - b.brokenMs);
    const urls = this.all.map(({ url }) => url).join(', ');
    const seconds = Math.ceil((first?.brokenMs ?? 0) / 1000);
    const message = `${urls}: failed several times in a row, and is asked again in ${seconds} s; check the inference server`;
    throw new Fault('INFERENCE_FAILED', `${message} (${first?.problem})`);
  }

  /** Those that are known to serve the model, while the others are checked; without one of them, all. */
  #checked(endpoints: readonly Endpoint[]): readonly Endpoint[] {
    const checked = endpoints.filter(({ isChecked }) => isChecked);
    if (checked.length === 0) return endpoints;
    for (const endpoint of endpoints) if (!endpoint.isChecked) endpoint.checkAside();
    return checked;
  }
}

/** Failures in a row after which an endpoint is not asked for a while. */
const maxFailures = 3;

interface EndpointOptions extends Pick<RemoteTimeouts, 'breakMs' | 'recheckMs'> {
  /** Asks for the model and its slots. @param isAnother whether they are likely to be empty. @throws ServerFault */
  readonly check: (slots: RemoteSlots, isAnother: boolean) => Promise<void>;
  /** Why it could not be used when the model was loaded. */
  readonly problem?: string;
}

/**
 * One inference server, with a circuit breaker. One that may have been started again since is checked before it is used.
 *
 * | breaker   | `#failures`     | asked                    | next state                                     |
 * | --------- | --------------- | ------------------------ | ---------------------------------------------- |
 * | closed    | < `maxFailures` | yes                      | one failure more: open; a success: none        |
 * | open      | `maxFailures`   | no                       | after `breakMs`: half open                     |
 * | half open | `maxFailures`   | yes                      | a failure: open again; a success: closed       |
 */
export class Endpoint {
  readonly url: string;
  readonly server: InferenceServer;
  readonly slots: RemoteSlots;
  readonly #options: EndpointOptions;
  #failures = 0;
  #failedAt = 0;
  #answeredAt = performance.now();
  #checking: Promise<void> | undefined;
  /** Whether it is known to serve the model. */
  isChecked = true;
  /** Why it failed last; "" = it has not. */
  problem = '';

  constructor(server: InferenceServer, slots: RemoteSlots, options: EndpointOptions) {
    this.url = server.connection.url;
    this.server = server;
    this.slots = slots;
    this.#options = options;
    if (options.problem === undefined) return;
    this.#failures = maxFailures - 1;
    this.failed(options.problem);
  }

  /** What runs and waits there, for each of its slots. */
  get load(): number {
    return (this.slots.busy + this.slots.waiting) / Math.max(1, this.slots.count);
  }

  /** Milliseconds until it may be asked again; 0 = now. */
  get brokenMs(): number {
    return this.#failures < maxFailures ? 0 : Math.max(0, this.#failedAt + this.#options.breakMs - performance.now());
  }

  /** Checks it; the check that is under way counts. @throws ServerFault when it cannot be used. */
  check(): Promise<void> {
    return (this.#checking ??= this.#runCheck());
  }

  /** Checks it after a silence: it may be another server. @throws ServerFault, or the reason of the signal. */
  async verify(signal: AbortSignal): Promise<void> {
    const isSilent = performance.now() - this.#answeredAt >= this.#options.recheckMs;
    if (isSilent) await raceAbort(this.check(), signal);
  }

  async #runCheck(): Promise<void> {
    try {
      await this.#options.check(this.slots, !this.isChecked);
      this.isChecked = true;
      this.#answeredAt = performance.now();
    } finally {
      this.#checking = undefined;
    }
  }

  /** Checks it while others are used. */
  checkAside(): void {
    if (this.#checking) return;
    this.check().then(
      () => this.succeeded(),
      (error: unknown) => this.failed(describeError(error)),
    );
  }

  succeeded(): void {
    this.#failures = 0;
    this.#answeredAt = performance.now();
  }

  /**
   * A request has failed. Those that run when one fails often fail with it: together they are one failure.
   * @param start when it began. @param mayBeAnother whether another server may answer there next: this one has gone.
   */
  failed(problem: string, start = performance.now(), mayBeAnother = false): void {
    this.problem = problem;
    if (mayBeAnother) this.isChecked = false;
    if (start < this.#failedAt) return;
    this.#failedAt = performance.now();
    this.#failures = Math.min(maxFailures, this.#failures + 1);
    if (this.#failures === maxFailures) this.isChecked = false;
  }
}
