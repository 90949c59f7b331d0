import type { Token } from '../../decoding/tokenizer.ts';
import { EitherSignal, track, untilAborted } from '../../../base/abort.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { GenerateOptions } from '../../contract/engine.ts';
import { untilResumed, type InferenceSchedule, type TokenThrottle } from '../../contract/pace.ts';
import type { Endpoint, Endpoints } from '../endpoints/endpoints.ts';
import type { RemoteSlot } from '../endpoints/remoteSlots.ts';
import { ServerFault } from '../connection/serverFault.ts';

/** A slot of an endpoint, while an inference has it. */
export interface SlotLease {
  readonly endpoint: Endpoint;
  readonly slot: RemoteSlot;
  /** Ends the inference. */
  readonly signal: AbortSignal;
}

/** An inference that needs a slot. */
export interface RemoteWork<T> extends InferenceSchedule, Pick<GenerateOptions, 'backpressure'> {
  readonly tokens: Token[];
  /** How many there are by now, with those that it has computed. Default: as many as `tokens`. */
  readonly count?: () => number;
  readonly signal: AbortSignal;
  readonly throttle?: TokenThrottle;
  readonly isWarmUp?: boolean;
  /** Whether a part of the result has been used, so that it cannot be computed again. Absent: nothing is, before its end. */
  readonly isStarted?: () => boolean;
  /** Computes until it is over, or until it has to wait ('paused'): then it is called again, in the same or another slot. */
  readonly compute: (lease: SlotLease) => Promise<T | 'paused'>;
}

/** Runs the inferences of one sequence: on the same endpoint while it works, in a slot only while they compute. */
export class RemoteRunner {
  readonly #endpoints: Endpoints;
  readonly #owner: object;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #endpoint: Endpoint | undefined;

  constructor(endpoints: Endpoints, owner: object) {
    this.#endpoints = endpoints;
    this.#owner = owner;
  }

  /** The result of an inference; undefined when it was aborted. @throws Fault */
  run<T>(work: RemoteWork<T>): Promise<T | undefined> {
    return track(this.#running, this.#run(work));
  }

  /** Whether it is closed, or about to be. */
  get isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /** Ends all inferences. */
  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#running);
    for (const { slots } of this.#endpoints.all) slots.forget(this.#owner);
  }

  async #run<T>(work: RemoteWork<T>): Promise<T | undefined> {
    using abort = new EitherSignal([work.signal, this.#closing.signal]);
    const { signal } = abort;
    for (;;) {
      await this.#untilReady(work, signal);
      if (signal.aborted) return undefined;
      try {
        const result = await this.#endpoints.attempt((endpoint) => this.#computeAt(endpoint, work, signal), {
          wanted: this.#endpoint,
          isOver: work.isStarted,
          signal,
        });
        if (result !== 'paused') return result;
      } catch (error) {
        if (signal.aborted) return undefined;
        const isGone = error instanceof ServerFault && error.unreachable && work.isStarted?.();
        throw isGone ? new Fault('ENGINE_CRASHED', error.message, { cause: error }) : error;
      }
    }
  }

  async #untilReady<T>({ pace, backpressure, throttle }: RemoteWork<T>, signal: AbortSignal): Promise<void> {
    for (;;) {
      await untilResumed(pace, signal);
      const wait = backpressure?.();
      if (wait) await untilAborted(wait, signal);
      await throttle?.untilDue(signal);
      if (signal.aborted || !pace?.limits.paused) return;
    }
  }

  async #computeAt<T>(
    endpoint: Endpoint,
    { tokens, count = () => tokens.length, pace, priority = 'NORMAL', isWarmUp = false, compute }: RemoteWork<T>,
    signal: AbortSignal,
  ): Promise<T | 'paused' | undefined> {
    this.#endpoint = endpoint;
    const { slots } = endpoint;
    const request = { owner: this.#owner, prompt: tokens, tokens: count(), priority, isWarmUp };
    const slot = await slots.acquire(request, signal);
    if (!slot) return undefined;
    try {
      if (signal.aborted) return undefined;
      if (pace?.limits.paused) return 'paused';
      await endpoint.verify(signal);
      return await compute({ endpoint, slot, signal });
    } finally {
      slots.release(slot);
    }
  }
}
