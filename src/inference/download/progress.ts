/** How far a download is. */
export interface DownloadProgress {
  readonly phase: 'DOWNLOADING';
  readonly bytesDone: number;
  /** 0 = not known. */
  readonly bytesTotal: number;
  /** 0 to 1. */
  readonly fraction: number;
}

/** Receives the progress of a download. */
export type OnDownload = (progress: DownloadProgress) => void;

// Three in a second, so that with the last one, which is never held back, there are at most four.
const minIntervalMs = 334;

/** The progress of a download after `bytesDone` of `bytesTotal` bytes (0 = not known). */
export const progressOf = (bytesDone: number, bytesTotal: number): DownloadProgress => ({
  phase: 'DOWNLOADING',
  bytesDone,
  bytesTotal,
  fraction: bytesTotal === 0 ? 0 : Math.min(1, bytesDone / bytesTotal),
});

/** Throttle for progress events: passes on at most four a second, and always the last one. */
export class ProgressThrottle {
  readonly #onProgress: OnDownload;
  readonly #now: () => number;
  #latest: DownloadProgress | undefined;
  /** The latest one, while it is held back. */
  #pending: DownloadProgress | undefined;
  #sentAt = -Infinity;

  /** @param now milliseconds of a monotonic clock. */
  constructor(onProgress: OnDownload, now: () => number) {
    this.#onProgress = onProgress;
    this.#now = now;
  }

  /** Passes the progress on, or holds it back when the last one is less than `minIntervalMs` old. */
  update(progress: DownloadProgress): void {
    const { bytesDone, bytesTotal } = this.#latest ?? {};
    if (bytesDone === progress.bytesDone && bytesTotal === progress.bytesTotal) return;
    this.#latest = progress;
    this.#pending = progress;
    if (this.#now() - this.#sentAt >= minIntervalMs) this.flush();
  }

  /** Passes on what is held back. */
  flush(): void {
    const progress = this.#pending;
    if (!progress) return;
    this.#pending = undefined;
    this.#sentAt = this.#now();
    this.#onProgress(progress);
  }
}
