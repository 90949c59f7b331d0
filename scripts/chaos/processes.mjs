// Finds the engine processes of a server in /proc, and signals them.
import { readdir, readFile } from 'node:fs/promises';
import { pollUntil } from '../stress/timeouts.mjs';

/** Engine processes have this file as an argument. */
const mainFile = 'inference/process/child.js';

/** The engine processes of a server, by its process id. @returns {Promise<readonly number[]>} */
export async function findEngineProcesses(/** @type {number} */ serverPid) {
  const pids = (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry)).map(Number);
  const found = await Promise.all(pids.map(async (pid) => ({ pid, ...(await readProcess(pid)) })));
  return found
    .filter(({ parent, command }) => parent === serverPid && command?.includes(mainFile))
    .map(({ pid }) => pid);
}

/** Whether a process exists. One that has ended and waits for its parent counts as gone. */
export async function isRunning(/** @type {number} */ pid) {
  const { state } = await readProcess(pid);
  return state !== undefined && state !== 'Z';
}

/** Whether the parent of a process knows that it has ended, or it has no parent any more. */
export const isReaped = async (/** @type {number} */ pid) => (await readProcess(pid)).state === undefined;

/** Waits until all of the processes are gone. Returns the seconds it took, or a sentence about those that are left. */
export async function untilGone(/** @type {readonly number[]} */ pids, /** @type {number} */ seconds) {
  const began = performance.now();
  let left = pids;
  const isMet = async () => {
    const running = await Promise.all(left.map(isRunning));
    left = left.filter((_, index) => running[index]);
    return left.length === 0;
  };
  if (await pollUntil(seconds, isMet)) return { seconds: (performance.now() - began) / 1000, left };
  return { seconds, left };
}

/** Sends a signal. Returns false when the process is gone already. */
export function signalProcess(/** @type {number} */ pid, /** @type {NodeJS.Signals} */ signal) {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

/** The parent, state and command line of a process; empty for one that is gone. */
async function readProcess(pid) {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
    // The second field is the name in parentheses, which may contain spaces and parentheses.
    const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, parent: Number(parent), command: await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '') };
  } catch {
    return {};
  }
}
