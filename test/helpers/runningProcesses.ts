import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';

/** The state of a process, a letter; empty if there is none. A file of Linux has it without a process of `ps`. */
function stateOf(pid: number): string {
  if (process.platform !== 'linux') return execFileSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  const line = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return line.slice(line.lastIndexOf(')') + 1);
}

/** Whether a process runs. One that has ended, but whose parent has not asked for its status, does not. */
export function isRunning(pid: number): boolean {
  try {
    const state = stateOf(pid).trim();
    return state !== '' && !state.startsWith('Z');
  } catch {
    return false;
  }
}

/** Resolves when a process has ended. */
export async function whenEnded(pid: number): Promise<void> {
  while (isRunning(pid)) await wait(20);
}

/** Stops a process, and resolves when it reads nothing more. */
export async function stopProcess(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP');
  while (!stateOf(pid).trim().startsWith('T')) await wait(1);
}

/** The priorities of all threads of a process. */
export const prioritiesOf = (pid: number): readonly number[] =>
  process.platform === 'linux'
    ? readdirSync(`/proc/${pid}/task`).map((thread) => getPriority(Number(thread)))
    : [getPriority(pid)];
