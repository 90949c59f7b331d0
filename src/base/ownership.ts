import { hostname } from 'node:os';

/** The process that owns a lock file or a cache folder, and the time since its last heartbeat. */
export interface Owner {
  readonly host: string;
  readonly pid: number;
  /** Milliseconds since the last heartbeat. */
  readonly idleMs: number;
}

/**
 * Whether an owner is dead, so that its lock or folder may be taken over: its heartbeat is older than `staleAfterMs`,
 * or it ran on this host and its process has ended.
 * @param isLeftover decides for an owner with the process id of this process: ids are reused, for example in containers.
 */
export function isAbandoned(
  { host, pid, idleMs }: Owner,
  { staleAfterMs, thisHost = hostname(), isLeftover }: OwnershipRule,
): boolean {
  if (idleMs > staleAfterMs) return true;
  if (host !== thisHost) return false;
  return pid === process.pid ? isLeftover() : !isProcessAlive(pid);
}

/** When an owner counts as dead. */
export interface OwnershipRule {
  /** Milliseconds without a heartbeat. */
  readonly staleAfterMs: number;
  /** The name of this host as owners write it; default: `os.hostname()`. */
  readonly thisHost?: string;
  readonly isLeftover: () => boolean;
}

/** Whether a process of this id runs on this host. A process of another user may not be signalled, but is alive. */
export function isProcessAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
