import { setTimeout as sleep } from 'node:timers/promises';
import { untilAborted } from '../../base/abort.ts';
import { Fault } from '../../protocol/fault.ts';
import type { ToolResult } from '../../protocol/frames.gen.ts';
import type { CallResult } from '../compile/turn.ts';

// Bytes of one result, in UTF-8.
const maxContentBytes = 256 * 1024;

/** Results of the calls of one turn: which it waits for, and which have come. */
export class PendingResults {
  readonly #turnId: number;
  // By call id; undefined: the turn waits for it.
  readonly #results = new Map<string, CallResult | undefined>();
  readonly #open = new Set<string>();
  #wake: () => void = () => {};

  constructor(turnId: number) {
    this.#turnId = turnId;
  }

  /** From now on the turn waits for the result of a call. */
  expect(callId: string): void {
    this.#open.add(callId);
    this.#results.set(callId, undefined);
  }

  /**
   * Takes results from the client: all of a request, or none.
   * @param keep counts them.
   * @throws Fault NO_RESULTS_AWAITED for a call that does not wait for a result, LIMIT_EXCEEDED for one that is too large.
   */
  submit(results: readonly ToolResult[], keep: () => void): void {
    if (this.#open.size === 0) throw notAwaited(`turn ${this.#turnId} waits for no results`);
    const given = new Set<string>();
    for (const [index, { callId, content }] of results.entries()) {
      const place = `submitToolResults.results[${index}]`;
      if (given.has(callId)) throw notAwaited(`${place} is the second result for call "${callId}"`);
      if (!this.#open.has(callId)) throw notAwaited(this.#whyNotOpen(place, callId));
      const bytes = Buffer.byteLength(content);
      if (bytes > maxContentBytes) {
        const message = `${place}.content has ${bytes} bytes, and ${maxContentBytes} are allowed; send less`;
        throw new Fault('LIMIT_EXCEEDED', message);
      }
      given.add(callId);
    }
    keep();
    for (const { callId, ok, content, lifespan } of results) {
      this.#results.set(callId, { ok, content, lifespan });
      this.#open.delete(callId);
    }
    this.#wake();
  }

  /**
   * Waits until all of some calls have results, the time is over or the signal is aborted. Results that have not come
   * then are no longer waited for.
   */
  async wait(
    callIds: readonly string[],
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<ReadonlyMap<string, CallResult>> {
    const timer = new AbortController();
    const areComplete = (): boolean => !callIds.some((id) => this.#open.has(id));
    const complete = new Promise<void>((resolve) => {
      this.#wake = () => areComplete() && resolve();
    });
    const timeout = sleep(timeoutMs, undefined, { signal: timer.signal }).catch(() => undefined);
    this.#wake();
    await untilAborted(Promise.race([complete, timeout]), signal);
    timer.abort();
    for (const id of callIds) this.#open.delete(id);
    signal.throwIfAborted();
    return new Map(
      callIds.flatMap((id) => {
        const result = this.#results.get(id);
        return result ? [[id, result] as const] : [];
      }),
    );
  }

  #whyNotOpen(place: string, callId: string): string {
    if (!this.#results.has(callId))
      return `${place}.callId is no call that turn ${this.#turnId} waits for: "${callId}"`;
    const has = this.#results.get(callId) !== undefined;
    return `${place} is ${has ? 'the second result for' : 'too late for'} call "${callId}"`;
  }
}

/** The error of results that nothing waits for. */
export const notAwaited = (why: string): Fault =>
  new Fault('NO_RESULTS_AWAITED', `${why}; send one result for each call whose notification has awaitsResult, in time`);
