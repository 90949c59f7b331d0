const windowMs = 1000;

/**
 * Rate limiter with a sliding window of one second: the returned function reports whether one more event is allowed
 * now, and counts it if so.
 * @param now monotonic clock in milliseconds.
 */
export function rateLimit(perSecond: number, now: () => number = () => performance.now()): () => boolean {
  const times: number[] = [];
  return () => {
    const time = now();
    while (times[0] !== undefined && times[0] <= time - windowMs) times.shift();
    if (times.length >= perSecond) return false;
    times.push(time);
    return true;
  };
}
