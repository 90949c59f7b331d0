import type { Pace } from '../../inference/contract/pace.ts';

/**
 * The timeout of a turn. It can be paused: time in which the turn waits for its client, or in which its session is paused,
 * does not count.
 */
export class TurnTimeout implements Disposable {
  readonly #onTimeout: () => void;
  readonly #stopListening: (() => void) | undefined;
  /** Why it is paused. */
  readonly #pauses = new Set<object>();
  #remainingMs: number;
  #startedMs = 0;
  #timer: NodeJS.Timeout | undefined;

  /** Starts at once. */
  constructor(timeoutMs: number, onTimeout: () => void, pace?: Pace) {
    this.#remainingMs = timeoutMs;
    this.#onTimeout = onTimeout;
    this.#start();
    const follow = (): void => (pace?.limits.paused ? this.pause(pace) : this.resume(pace));
    this.#stopListening = pace?.onChange(follow);
    if (pace) follow();
  }

  /** Pauses it for a reason, until it is resumed for each one. */
  pause(reason: object = this): void {
    this.#pauses.add(reason);
    this.#stop();
  }

  resume(reason: object = this): void {
    this.#pauses.delete(reason);
    if (this.#pauses.size === 0) this.#start();
  }

  [Symbol.dispose](): void {
    this.#stopListening?.();
    this.pause();
  }

  #start(): void {
    if (this.#timer !== undefined) return;
    this.#startedMs = performance.now();
    this.#timer = setTimeout(this.#onTimeout, Math.max(0, this.#remainingMs));
  }

  #stop(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#remainingMs -= performance.now() - this.#startedMs;
  }
}
