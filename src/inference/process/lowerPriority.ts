import { readdirSync } from 'node:fs';
import { constants, getPriority, setPriority } from 'node:os';

/** Priorities of engine processes in the operating system. `normal` is that of the server process. */
export type ProcessPriority = 'normal' | 'below-normal' | 'low';

const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = constants.priority;
const levels = { 'below-normal': PRIORITY_BELOW_NORMAL, low: PRIORITY_LOW } as const;

/** Lowers the priority of this process, so that the game goes first. Never raises it; a refusal is no error. */
export function lowerPriority(priority: ProcessPriority): void {
  if (priority === 'normal') return;
  for (const id of threadIds()) {
    try {
      // A larger number is a lower priority.
      if (getPriority(id) < levels[priority]) setPriority(id, levels[priority]);
    } catch {
      // The thread has ended, or a sandbox forbids it.
    }
  }
}

/** On Linux each thread has a priority of its own, which the threads that it starts inherit; 0 = this process. */
function threadIds(): readonly number[] {
  try {
    return readdirSync('/proc/self/task').map(Number);
  } catch {
    return [0];
  }
}
