// CPU hog: a process that keeps one core busy, as a game does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Starts the process; `close` kills it. */
export async function startCpuHog() {
  const child = spawn(process.execPath, ['-e', 'console.log(1); for (;;);'], { stdio: ['ignore', 'pipe', 'ignore'] });
  const exited = once(child, 'exit');
  await once(child.stdout, 'data');
  return {
    async close() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
