import { describeError } from '../../protocol/fault.ts';
import type { LoadOptions } from '../contract/engine.ts';
import { LlamaInstancePool } from './llamaInstances.ts';
import { freeMemory } from './memoryCheck.ts';

/** Memory that models can use, as llama.cpp sees it. */
export interface Hardware {
  /** Free RAM in bytes. */
  readonly freeRam: number;
  /** The graphics cards together; undefined: llama.cpp sees none, or it is off. */
  readonly card:
    { readonly names: readonly string[]; readonly freeBytes: number; readonly totalBytes: number } | undefined;
  /** Why it is unknown whether there is a card. */
  readonly problem: string | undefined;
}

/** Reads what memory there is. */
export async function readHardware(gpu: LoadOptions['gpu']): Promise<Hardware> {
  const freeRam = freeMemory();
  const instances = new LlamaInstancePool();
  try {
    const llama = await instances.acquire(gpu);
    if (llama.gpu === false) return { freeRam, card: undefined, problem: undefined };
    const { free: freeBytes, total: totalBytes } = await llama.getVramState();
    return { freeRam, card: { names: await llama.getGpuDeviceNames(), freeBytes, totalBytes }, problem: undefined };
  } catch (error) {
    return { freeRam, card: undefined, problem: describeError(error) };
  } finally {
    await instances.dispose();
  }
}
