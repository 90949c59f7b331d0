import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

/**
 * The processor time that the main thread of a process has taken, in milliseconds. Where the system does not tell, the time of
 * the clock.
 */
function threadTimeMs(pid: number): number {
  try {
    return Number.parseInt(readFileSync(`/proc/${pid}/schedstat`, 'utf8'), 10) / 1e6;
  } catch {
    return performance.now();
  }
}

/**
 * How long the event loop of the server with process id `pid` was held while something ran, in milliseconds: the most that its
 * main thread worked before it answered `GET /health`, which is asked for again and again. What other processes took does not
 * count.
 */
export async function longestHold<Result>(
  pid: number,
  port: number,
  run: () => Promise<Result>,
): Promise<{ readonly longestMs: number; readonly result: Result }> {
  const agent = new Agent({ keepAlive: true });
  let isRunning = true;
  let longestMs = 0;
  const ping = (): Promise<void> =>
    new Promise((resolve) => {
      const start = threadTimeMs(pid);
      const end = (): void => {
        longestMs = Math.max(longestMs, threadTimeMs(pid) - start);
        resolve();
      };
      get({ agent, host: '127.0.0.1', port, path: '/health' }, (response) => response.resume().on('end', end)).on(
        'error',
        end,
      );
    });
  const pings = (async () => {
    while (isRunning) {
      await ping();
      await wait(10);
    }
  })();
  await wait(20);
  const result = await run();
  isRunning = false;
  await pings;
  agent.destroy();
  return { longestMs, result };
}
