import { freemem } from 'node:os';
import type { Llama } from 'node-llama-cpp';
import { Fault } from '../../protocol/fault.ts';
import { ceilMegabytes } from '../../base/units.ts';
import type { MemoryUse } from '../contract/memory.ts';

/** Free RAM in bytes. Respects the memory limits of containers from Node 20.13 on. */
export const freeMemory = (): number => process.availableMemory?.() ?? freemem();

/** Free GPU memory in bytes; Infinity without a GPU, which therefore never is the limit. */
const freeVram = async (llama: Llama): Promise<number> =>
  llama.gpu === false ? Infinity : (await llama.getVramState()).free;

/** Free RAM and GPU memory; 0 bytes of the latter without a GPU. */
export async function freeBytes(llama: Llama): Promise<MemoryUse> {
  return { ram: freeMemory(), vram: llama.gpu === false ? 0 : await freeVram(llama) };
}

/**
 * Checks that an allocation fits in free RAM: otherwise the operating system may kill the process.
 * @throws Fault MODEL_LOAD_FAILED with both sizes and the hint, when it does not fit.
 */
export function checkMemory(need: { readonly what: string; readonly bytes: number; readonly hint: string }): void {
  const free = freeMemory();
  if (need.bytes <= free) return;
  throw new Fault(
    'MODEL_LOAD_FAILED',
    `${need.what} need ${ceilMegabytes(need.bytes)} MB of memory and ${ceilMegabytes(free)} MB are free: ${need.hint}`,
  );
}
