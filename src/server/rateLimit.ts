const windowMs = 1000;

/** Lets at most so many things happen in any second. @param now milliseconds of a clock that only goes forward. */
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
