import { afterMs, onAbort, onceAny, type Subscribe } from '../../base/events.ts';
import { readJson } from '../../base/jsonLocations.ts';
import { Fault } from '../../protocol/fault.ts';
import { jsonBytes } from '../../protocol/frameSize.ts';
import type { ToolResult } from '../../protocol/frames.gen.ts';
import type { CallResult } from '../compile/turn.ts';

// Bytes of one result, in UTF-8.
const maxContentBytes = 256 * 1024;

// Bytes of one metadata_json in a JSON frame, so that a TurnComplete has room for it.
const maxMetadataBytes = 8 * 1024;

// What stands for the result of a call when another one has ended the turn.
const unfinished: CallResult = { ok: false, content: 'not finished: the turn was ended', lifespan: 'TURN' };

/** Results of the calls of one turn: which it waits for, and which have come. */
export class PendingResults {
  readonly #turnId: number;
  // By call id; undefined: the turn waits for it.
  readonly #results = new Map<string, CallResult | undefined>();
  readonly #open = new Set<string>();
  #hasEnded = false;
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
   * @throws Fault NO_RESULTS_AWAITED for a call that does not wait for a result, LIMIT_EXCEEDED for one that is too large,
   * MALFORMED_MESSAGE for metadata that is no JSON.
   */
  submit(results: readonly ToolResult[], keep: () => void): void {
    if (this.#open.size === 0) throw notAwaited(`turn ${this.#turnId} waits for no results`);
    const given = new Set<string>();
    for (const [index, { callId, content, metadataJson }] of results.entries()) {
      const place = `submitToolResults.results[${index}]`;
      if (given.has(callId)) throw notAwaited(`${place} is the second result for call "${callId}"`);
      if (!this.#open.has(callId)) throw notAwaited(this.#whyNotOpen(place, callId));
      const bytes = Buffer.byteLength(content);
      if (bytes > maxContentBytes) {
        const message = `${place}.content has ${bytes} bytes, and ${maxContentBytes} are allowed; send less`;
        throw new Fault('LIMIT_EXCEEDED', message);
      }
      assertMetadata(`${place}.metadataJson`, metadataJson);
      given.add(callId);
    }
    keep();
    for (const { callId, ok, content, lifespan, control } of results) {
      this.#results.set(callId, { ok, content, lifespan });
      this.#open.delete(callId);
      this.#hasEnded ||= control?.endTurn === true;
    }
    if (this.#hasEnded) this.#open.clear();
    this.#wake();
  }

  /** Waits until all of some calls have results, or the time is over. What comes later is not waited for. */
  async wait(ids: readonly string[], timeoutMs: number, signal: AbortSignal): Promise<ReadonlyMap<string, CallResult>> {
    const onComplete: Subscribe = (happened) => {
      this.#wake = () => ids.some((id) => this.#open.has(id)) || happened();
      this.#wake();
      return () => undefined;
    };
    await onceAny(afterMs(timeoutMs), onAbort(signal), onComplete);
    for (const id of ids) this.#open.delete(id);
    signal.throwIfAborted();
    return new Map(
      ids.flatMap((id) => {
        const result = this.#results.get(id) ?? (this.#hasEnded ? unfinished : undefined);
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

function assertMetadata(place: string, json: string): void {
  const bytes = jsonBytes(json);
  if (bytes > maxMetadataBytes)
    throw new Fault('LIMIT_EXCEEDED', `${place} has ${bytes} bytes, and ${maxMetadataBytes} are allowed; send less`);
  const error = json === '' ? undefined : readJson(json).error;
  if (error) throw new Fault('MALFORMED_MESSAGE', `${place} is not valid JSON at ${error.place}: ${error.why}`);
}

/** The error of results that nothing waits for. */
export const notAwaited = (why: string): Fault =>
  new Fault('NO_RESULTS_AWAITED', `${why}; send one result for each call whose notification has awaitsResult, in time`);
