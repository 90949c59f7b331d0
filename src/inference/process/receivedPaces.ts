import { Pace, type InferenceSchedule, type PaceLimits } from '../contract/pace.ts';
import type { PlainSchedule } from './messages.ts';

/** The paces of the requests that run in this engine process, as the server process sends them. */
export class ReceivedPaces {
  readonly #paces = new Map<number, { readonly pace: Pace; requests: number }>();

  /** How many requests are paused. */
  get paused(): number {
    return [...this.#paces.values()].reduce((sum, { pace, requests }) => sum + (pace.limits.paused ? requests : 0), 0);
  }

  /** Replaces the limits of a pace. Those of one that no request has any more are of no interest. */
  set(id: number, limits: PaceLimits): void {
    this.#paces.get(id)?.pace.set(limits);
  }

  /** Runs a request with its schedule. */
  async run<T>({ priority, pace }: PlainSchedule, request: (schedule: InferenceSchedule) => Promise<T>): Promise<T> {
    if (!pace) return request({ priority });
    const { id, limits } = pace;
    const received = this.#paces.get(id) ?? { pace: new Pace(), requests: 0 };
    this.#paces.set(id, received);
    received.pace.set(limits);
    received.requests++;
    try {
      return await request({ priority, pace: received.pace });
    } finally {
      if (--received.requests === 0) this.#paces.delete(id);
    }
  }
}
