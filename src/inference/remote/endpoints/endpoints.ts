import { setTimeout as sleep } from 'node:timers/promises';
import { raceAbort } from '../../../base/abort.ts';
import { Fault, describeError } from '../../../protocol/fault.ts';
import type { Endpoint } from './endpoint.ts';
import type { RemoteTimeouts } from '../connection/httpConnection.ts';
import { ServerFault } from '../connection/serverFault.ts';

/** Attempts of one request, the first one included. */
const maxAttempts = 3;
/** A server that asks for a longer wait is not waited for. */
const maxRetryAfterMs = 10_000;

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
   * @param wanted the endpoint to ask first; undefined: the least busy one.
   * @param isOver whether another attempt must not be made: a part of the answer has been used.
   * @throws Fault of the last attempt, or the reason of the signal.
   */
  async attempt<T>(
    work: (endpoint: Endpoint) => Promise<T>,
    {
      wanted,
      isOver,
      signal,
    }: { readonly wanted?: Endpoint | undefined; readonly isOver?: () => boolean; readonly signal: AbortSignal },
  ): Promise<T> {
    const failed = new Set<Endpoint>();
    for (let count = 1; ; count++) {
      const endpoint = this.#choose(wanted, failed);
      try {
        // Not when it is checked: others that choose now must see that it is busy.
        if (!endpoint.isChecked) await raceAbort(endpoint.check(), signal);
        const result = await work(endpoint);
        endpoint.succeeded();
        return result;
      } catch (error) {
        if (signal.aborted || !(error instanceof ServerFault)) throw error;
        if (!error.retryable) {
          // It answers: that it refuses a request is no failure of the endpoint.
          if (error.status > 0 && error.status < 500) endpoint.succeeded();
          else endpoint.failed(describeError(error), error.status === 0);
          throw error;
        }
        endpoint.failed(describeError(error), error.status === 0);
        failed.add(endpoint);
        if (isOver?.() || count >= maxAttempts || error.retryAfterMs > maxRetryAfterMs) throw error;
        const hasOther = this.all.some((other) => !failed.has(other) && other.brokenMs === 0);
        const waitMs = Math.max(error.retryAfterMs, this.#timeouts.retryMs * 2 ** (count - 1));
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
    const problem = first === undefined || first.problem === '' ? '' : ` (${first.problem})`;
    throw new Fault('INFERENCE_FAILED', message + problem);
  }

  /** Those that are known to serve the model, while the others are checked; without one of them, all. */
  #checked(endpoints: readonly Endpoint[]): readonly Endpoint[] {
    const checked = endpoints.filter(({ isChecked }) => isChecked);
    if (checked.length === 0) return endpoints;
    for (const endpoint of endpoints) if (!endpoint.isChecked) endpoint.checkAside();
    return checked;
  }
}
