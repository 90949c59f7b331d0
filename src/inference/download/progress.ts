export interface DownloadProgress {
  readonly phase: 'DOWNLOADING';
  readonly bytesDone: number;
  /** 0 = not known. */
  readonly bytesTotal: number;
  /** 0 to 1. */
  readonly fraction: number;
}

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

/** Passes on at most four progress events a second, and always the last one. @param now milliseconds, monotonic. */
export function throttleProgress(onProgress: OnDownload, now: () => number) {
  let latest: DownloadProgress | undefined;
  let isPending = false;
  let sentAt = -Infinity;
  /** Passes on what is held back. */
  const flush = (): void => {
    if (!latest || !isPending) return;
    isPending = false;
    sentAt = now();
    onProgress(latest);
  };
  /** Passes the progress on, or holds it back when the last one is less than `minIntervalMs` old. */
  const update = (progress: DownloadProgress): void => {
    if (latest?.bytesDone === progress.bytesDone && latest.bytesTotal === progress.bytesTotal) return;
    latest = progress;
    isPending = true;
    if (now() - sentAt >= minIntervalMs) flush();
  };
  return { update, flush };
}
