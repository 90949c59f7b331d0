import { freemem } from 'node:os';
import type { Llama } from 'node-llama-cpp';
import { Fault } from '../../fault.ts';
import type { MemoryUse } from '../modelDetails.ts';

/** Bytes that can be taken; knows of containers' limits from Node 20.13 on. */
export const freeMemory = (): number => process.availableMemory?.() ?? freemem();

/** Bytes of the graphics card that can be taken; without one nothing is asked of it. */
export const freeVram = async (llama: Llama): Promise<number> =>
  llama.gpu === false ? Infinity : (await llama.getVramState()).free;

export async function freeBytes(llama: Llama): Promise<MemoryUse> {
  return { ram: freeMemory(), vram: llama.gpu === false ? 0 : await freeVram(llama) };
}

/** Refuses what does not fit in memory before the system would kill the process for it. @throws Fault MODEL_LOAD_FAILED */
export function checkMemory(need: { readonly what: string; readonly bytes: number; readonly hint: string }): void {
  const free = freeMemory();
  if (need.bytes <= free) return;
  throw new Fault(
    'MODEL_LOAD_FAILED',
    `${need.what} need ${megabytes(need.bytes)} MB of memory and ${megabytes(free)} MB are free: ${need.hint}`,
  );
}

const megabytes = (bytes: number): number => Math.ceil(bytes / 1e6);
