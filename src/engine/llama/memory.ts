import { freemem } from 'node:os';
import { Fault } from '../../fault.ts';

/** Bytes that can be taken; knows of containers' limits from Node 20.13 on. */
export const freeMemory = (): number => process.availableMemory?.() ?? freemem();

/** Refuses what does not fit in memory before the system would kill the process for it. @throws Fault MODEL_LOAD_FAILED */
export function checkMemory(need: { readonly what: string; readonly bytes: number; readonly mend: string }): void {
  const free = freeMemory();
  if (need.bytes <= free) return;
  throw new Fault(
    'MODEL_LOAD_FAILED',
    `${need.what} need ${megabytes(need.bytes)} MB of memory and ${megabytes(free)} MB are free: ${need.mend}`,
  );
}

const megabytes = (bytes: number): number => Math.ceil(bytes / 1e6);
