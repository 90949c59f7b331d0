import { execFileSync } from 'node:child_process';
import { setTimeout as wait } from 'node:timers/promises';

/** Whether a process runs. One that has ended, but whose parent has not asked for its status, does not. */
export function isRunning(pid: number): boolean {
  try {
    const state = execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).trim();
    return state !== '' && !state.startsWith('Z');
  } catch {
    return false;
  }
}

/** Resolves when a process has ended. */
export async function whenEnded(pid: number): Promise<void> {
  while (isRunning(pid)) await wait(20);
}
