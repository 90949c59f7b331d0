import type { ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { MaliciousServers, type Outcome } from '../../helpers/maliciousServer.ts';

// The limits of the clients in the tests are a few seconds.
const boundMs = 90_000;

/**
 * Lets a program visit all malicious servers. Its arguments are their URLs, or `none`; it prints a line
 * `VISIT {"way", "step", "message"}` for each visit that has ended, with the index of the URL.
 * @param hasOneThread whether servers that keep it busy are visited by processes of their own.
 */
export async function visitMaliciousServers(
  start: (urls: readonly string[]) => ChildProcess,
  hasOneThread = false,
): Promise<readonly Outcome[]> {
  await using servers = await MaliciousServers.start();
  const apart = hasOneThread ? servers.heavy : [];
  const all = servers.urls.map((_, way) => way);
  const groups = [all.filter((way) => !apart.includes(way)), ...apart.map((way) => [way])];
  const outcomes = groups.map((group) =>
    outcomesOf(start(servers.urls.map((url, way) => (group.includes(way) ? url : 'none'))), group.length),
  );
  return (await Promise.all(outcomes)).flat();
}

async function outcomesOf(program: ChildProcess, count: number): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
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
          if (outcomes.length === count) end();
        });
      }
    });
  } finally {
    program.kill('SIGKILL');
  }
  return outcomes;
}
