import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { MaliciousServers, type Outcome } from '../../helpers/maliciousServer.ts';

// The limits of the clients in the tests are a few seconds.
const boundMs = 90_000;

/**
 * Lets a program visit all malicious servers. Its arguments are their URLs; it prints a line `VISIT {"way", "step", "message"}`
 * for each that has ended, with the index of the URL.
 */
export async function visitMaliciousServers(
  start: (urls: readonly string[]) => ChildProcess,
): Promise<readonly Outcome[]> {
  await using servers = await MaliciousServers.start();
  const outcomes: Outcome[] = [];
  const program = start(servers.urls);
  try {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, boundMs);
      const end = (): void => {
        clearTimeout(timer);
        resolve();
      };
      program.once('error', end).once('close', end);
      for (const stream of [program.stdout, program.stderr]) {
        if (!stream) continue;
        createInterface({ input: stream }).on('line', (line) => {
          const [, json] = /VISIT (\{.*\})/.exec(line) ?? [];
          if (json !== undefined) outcomes.push(JSON.parse(json) as Outcome);
          if (outcomes.length === servers.urls.length) end();
        });
      }
    });
  } finally {
    program.kill('SIGKILL');
  }
  return outcomes;
}
