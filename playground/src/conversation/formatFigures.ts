/** A duration, as exact as it is of use: `3.2 ms`, `480 ms`, `1.24 s`, `1 min 5 s`. */
export function formatMs(ms: number): string {
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(2)} s`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** A rate: `8.4/s`, `1,240/s`. */
export const formatRate = (perSecond: number): string =>
  `${perSecond < 100 ? perSecond.toFixed(1) : Math.round(perSecond).toLocaleString('en')}/s`;
