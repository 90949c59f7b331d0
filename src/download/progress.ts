/** How far a download is. */
export interface DownloadProgress {
  readonly phase: 'DOWNLOADING';
  readonly bytesDone: number;
  /** 0 = not known. */
  readonly bytesTotal: number;
  /** 0 to 1. */
  readonly fraction: number;
}

/** Told how far a download is. */
export type OnDownload = (progress: DownloadProgress) => void;

// With the last one, which comes in any case, no more than four in a second.
const betweenMs = 334;

/** How far so many bytes of so many are. */
export const progressOf = (bytesDone: number, bytesTotal: number): DownloadProgress => ({
  phase: 'DOWNLOADING',
  bytesDone,
  bytesTotal,
  fraction: bytesTotal === 0 ? 0 : Math.min(1, bytesDone / bytesTotal),
});

/** A listener that hears at most four times a second, and always what came last. */
export class Listener {
  readonly #tell: OnDownload;
  readonly #now: () => number;
  #last: DownloadProgress | undefined;
  #waiting: DownloadProgress | undefined;
  #told = -Infinity;

  constructor(tell: OnDownload, now: () => number) {
    this.#tell = tell;
    this.#now = now;
  }

  hear(progress: DownloadProgress): void {
    const { bytesDone, bytesTotal } = this.#last ?? {};
    if (bytesDone === progress.bytesDone && bytesTotal === progress.bytesTotal) return;
    this.#last = progress;
    this.#waiting = progress;
    if (this.#now() - this.#told >= betweenMs) this.end();
  }

  /** Tells what came last, if it has not been told. */
  end(): void {
    const last = this.#waiting;
    if (!last) return;
    this.#waiting = undefined;
    this.#told = this.#now();
    this.#tell(last);
  }
}
