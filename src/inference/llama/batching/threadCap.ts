import type { Pace } from '../../contract/pace.ts';

/** The largest number of threads for a batch: the lowest limit of the inferences that have tokens in it. */
export class ThreadCap {
  readonly #paces = new Map<object, Pace>();

  /** Infinity: there is no limit. */
  get threads(): number {
    return Math.min(...[...this.#paces.values()].map(({ limits }) => limits.maxThreads || Infinity));
  }

  /** An inference asks for a place in a batch. */
  enter(inference: object, pace: Pace | undefined): void {
    if (pace) this.#paces.set(inference, pace);
  }

  /** It has what it asked for. */
  leave(inference: object): void {
    this.#paces.delete(inference);
  }
}
