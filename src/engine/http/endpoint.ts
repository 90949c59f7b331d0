import type { LlamaServer } from './llamaServer.ts';
import type { RemoteTimeouts } from '../remoteModel.ts';
import type { RemoteSlots } from './remoteSlots.ts';

/** Failures in a row after which an endpoint is not asked for a while. */
const maxFailures = 3;

/**
 * One inference server, with a circuit breaker.
 *
 * | breaker   | `#failures`     | asked                    | next state                                     |
 * | --------- | --------------- | ------------------------ | ---------------------------------------------- |
 * | closed    | < `maxFailures` | yes                      | one failure more: open; a success: none        |
 * | open      | `maxFailures`   | no                       | after `breakMs`: half open                     |
 * | half open | `maxFailures`   | yes                      | a failure: open again; a success: closed       |
 */
export class Endpoint {
  readonly server: LlamaServer;
  readonly slots: RemoteSlots;
  readonly #timeouts: Pick<RemoteTimeouts, 'breakMs'>;
  #failures = 0;
  #closedAt = 0;

  constructor(server: LlamaServer, slots: RemoteSlots, timeouts: Pick<RemoteTimeouts, 'breakMs'>) {
    this.server = server;
    this.slots = slots;
    this.#timeouts = timeouts;
  }

  get url(): string {
    return this.server.connection.url;
  }

  /** What runs and waits there, for each of its slots. */
  get load(): number {
    return (this.slots.busy + this.slots.waiting) / this.slots.count;
  }

  /** Milliseconds until it may be asked again; 0 = now. */
  get brokenMs(): number {
    return this.#failures < maxFailures ? 0 : Math.max(0, this.#closedAt - performance.now());
  }

  succeeded(): void {
    this.#failures = 0;
  }

  failed(): void {
    this.#failures = Math.min(maxFailures, this.#failures + 1);
    this.#closedAt = performance.now() + this.#timeouts.breakMs;
  }
}
