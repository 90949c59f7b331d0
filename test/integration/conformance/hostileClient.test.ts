import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkClient } from '../../../conformance/client/checkClient.ts';
import { whenEnded } from '../../helpers/runningProcesses.ts';

const node = JSON.stringify(process.execPath);
let folder = '';
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), 'turngraph-'))));
afterAll(() => rm(folder, { recursive: true }));

/** The reasons of a program's failures. */
async function reasonsOf(source: string): Promise<readonly string[]> {
  const program = join(folder, 'client.mjs');
  await writeFile(program, source);
  const command = `${node} ${JSON.stringify(program)}`;
  const reasons: string[] = [];
  for await (const { reason } of checkClient({ command, codecs: ['json'], only: ['close sends'], timeoutMs: 500 }))
    reasons.push(reason);
  return reasons;
}

const flood = (text: string): string => `
  const text = Buffer.from(${text});
  const write = () => { while (process.stdout.write(text)); };
  process.stdout.on('drain', write);
  write();`;

describe('the check of a client ends for a program that', () => {
  it.each([
    ['floods its output without an end of line', flood("'x'.repeat(1e6)"), 'a line of more than 16777216 characters'],
    ['floods its output with lines', flood(`'{"event":"lost"}\\n'.repeat(1e4)`), 'more than 100000 lines'],
  ])('%s', { timeout: 30_000 }, async (_, source, reason) => {
    expect(await reasonsOf(source)).toEqual([expect.stringContaining(reason)]);
  });

  it('exits, and leaves children behind that hold its output open', async () => {
    const pidFile = JSON.stringify(join(folder, 'pids'));
    const reasons = await reasonsOf(`
      import { spawn } from 'node:child_process';
      import { writeFileSync } from 'node:fs';
      const start = (detached) => spawn(process.execPath, ['-e', 'setTimeout(() => {}, 30000)'], { stdio: 'inherit', detached });
      const children = [start(false), start(true)];
      writeFileSync(${pidFile}, children.map(({ pid }) => pid).join(' '));
      process.exit(3);`);
    expect(reasons).toEqual([expect.stringContaining('its exit with code 3')]);
    const [child = 0, detached = 0] = (await readFile(join(folder, 'pids'), 'utf8')).split(' ').map(Number);
    // The other one has left the group of the program.
    await whenEnded(child);
    process.kill(detached, 'SIGKILL');
  });
});
