import { Agent, get } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';

/**
 * How long a server did not answer while something ran, in milliseconds: the slowest answer to `GET /health`, which is asked
 * for again and again.
 */
export async function longestDelay(port: number, run: () => Promise<unknown>): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  let isRunning = true;
  let longest = 0;
  const ping = (): Promise<void> =>
    new Promise((resolve) => {
      const start = performance.now();
      const end = (): void => {
        longest = Math.max(longest, performance.now() - start);
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
      await wait(1);
    }
  })();
  await wait(20);
  await run();
  isRunning = false;
  await pings;
  agent.destroy();
  return longest;
}
