import { useEffect, useState } from 'react';

const intervalMs = 100;

/** The page's clock (`performance.now`), ten times a second while something runs. */
export function useNow(running: boolean): number {
  const [now, setNow] = useState(() => performance.now());
  useEffect(() => {
    if (!running) return undefined;
    const timer = setInterval(() => setNow(performance.now()), intervalMs);
    return () => clearInterval(timer);
  }, [running]);
  return now;
}
