import { checkFrameTimes } from '../protocol/frameTimes.ts';

const intervalMs = 1000;
/** The worst frame of a second says little, and the mean hides a few late ones. */
const percentile = 0.95;

/** The frame times of a game: a report once a second, with the 95th percentile of those since the last one. */
export class FrameReports {
  readonly #send: (ms: number, targetMs: number) => Promise<unknown>;
  #frames: number[] = [];
  /** When the first of them ended. */
  #since = 0;
  #isSending = false;

  constructor(send: (ms: number, targetMs: number) => Promise<unknown>) {
    this.#send = send;
  }

  /** @throws Fault MALFORMED_MESSAGE */
  add(ms: number, targetMs: number, now = performance.now()): void {
    checkFrameTimes(ms, targetMs);
    if (this.#frames.push(ms) === 1) this.#since = now;
    if (now - this.#since < intervalMs) return;
    const sorted = this.#frames.toSorted((a, b) => a - b);
    this.#frames = [];
    // While there is no connection, none waits for it: it would be old.
    if (this.#isSending) return;
    this.#isSending = true;
    const onEnd = (): void => void (this.#isSending = false);
    this.#send(sorted[Math.floor((sorted.length - 1) * percentile)] ?? ms, targetMs).then(onEnd, onEnd);
  }
}
