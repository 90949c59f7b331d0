import { describeError } from '../../../protocol/fault.ts';
import type { InferenceServer } from '../inferenceServer.ts';
import type { RemoteTimeouts } from '../connection/httpConnection.ts';
import type { RemoteSlots } from './remoteSlots.ts';

/** Failures in a row after which an endpoint is not asked for a while. */
const maxFailures = 3;

/** How an endpoint begins, and how it comes back. */
export interface EndpointOptions extends Pick<RemoteTimeouts, 'breakMs' | 'recheckMs'> {
  /**
   * Asks whether it serves the model, and how many slots it has.
   * @param isAnother whether its slots are likely to be empty: it has been started again.
   * @throws ServerFault when it cannot be used.
   */
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
  readonly server: InferenceServer;
  readonly slots: RemoteSlots;
  readonly #options: EndpointOptions;
  #failures = 0;
  #closedAt = 0;
  #isChecked = true;
  #answeredAt = performance.now();
  #checking: Promise<void> | undefined;
  /** Why it failed last; "" = it has not. */
  problem = '';

  constructor(server: InferenceServer, slots: RemoteSlots, options: EndpointOptions) {
    this.server = server;
    this.slots = slots;
    this.#options = options;
    if (options.problem === undefined) return;
    this.#failures = maxFailures - 1;
    this.failed(options.problem);
  }

  get url(): string {
    return this.server.connection.url;
  }

  /** What runs and waits there, for each of its slots. */
  get load(): number {
    return (this.slots.busy + this.slots.waiting) / Math.max(1, this.slots.count);
  }

  /** Milliseconds until it may be asked again; 0 = now. */
  get brokenMs(): number {
    return this.#failures < maxFailures ? 0 : Math.max(0, this.#closedAt - performance.now());
  }

  /** Whether it is known to serve the model. */
  get isChecked(): boolean {
    return this.#isChecked;
  }

  /** Checks it, if it has to be. @throws ServerFault when it cannot be used. */
  check(): Promise<void> {
    if (this.#isChecked) return Promise.resolve();
    this.#checking ??= this.#runCheck();
    return this.#checking;
  }

  /**
   * Checks it, if it has been silent for a while: another server may have taken its place without a failed request. Undefined:
   * it is in use.
   * @throws ServerFault when it cannot be used.
   */
  verify(): Promise<void> | undefined {
    const isSilent = performance.now() - this.#answeredAt >= this.#options.recheckMs;
    if (!isSilent) return undefined;
    this.#checking ??= this.#runCheck();
    return this.#checking;
  }

  async #runCheck(): Promise<void> {
    try {
      await this.#options.check(this.slots, !this.#isChecked);
      this.#isChecked = true;
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

  /** @param mayBeAnother whether another server may answer there next: this one has gone. */
  failed(problem: string, mayBeAnother = false): void {
    this.problem = problem;
    this.#failures = Math.min(maxFailures, this.#failures + 1);
    if (mayBeAnother || this.#failures === maxFailures) this.#isChecked = false;
    this.#closedAt = performance.now() + this.#options.breakMs;
  }
}
