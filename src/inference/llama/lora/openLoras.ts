import { basename } from 'node:path';
import { describeError, Fault } from '../../../protocol/fault.ts';
import { type LoraFile, splitFileNames } from '../../contract/model.ts';
import type { MemoryUse } from '../../contract/memory.ts';
import { readGguf } from '../gguf/validateFile.ts';
import { findLoraProblem } from './loraHeader.ts';

/**
 * Checks that LoRA adapters fit a model, before llama.cpp reads them.
 * @returns the size of their files in bytes.
 * @throws Fault MODEL_LOAD_FAILED that names the adapter.
 */
export async function checkLoras(model: string, loras: readonly LoraFile[]): Promise<number> {
  if (loras.length === 0) return 0;
  const { header } = await readGguf(model);
  let bytes = 0;
  for (const { file } of loras) {
    const lora = await readGguf(file).catch((error: unknown) => {
      throw loraFault(file, describeError(error), error);
    });
    const isSplit = splitFileNames(basename(file)).length > 1;
    const problem = isSplit
      ? 'it is split, and llama.cpp reads adapters of one file'
      : findLoraProblem(lora.header, header);
    if (problem !== undefined) throw loraFault(file, problem);
    bytes += lora.bytes;
  }
  return bytes;
}

/** The fault of an adapter that llama.cpp refused although it seemed to fit; other errors as they are. */
export function toLoraFault(loras: readonly LoraFile[], error: unknown): unknown {
  const failed = loras.find(({ file }) => describeError(error).includes(`LoRA adapter "${file}"`));
  return failed ? loraFault(failed.file, 'it is damaged or cut short', error) : error;
}

/** What adapters take: llama.cpp puts each tensor where the tensor of the model is that it changes. */
export const loraMemory = (bytes: number, gpuLayers: number): MemoryUse =>
  gpuLayers > 0 ? { ram: 0, vram: bytes } : { ram: bytes, vram: 0 };

const loraFault = (file: string, why: string, cause?: unknown): Fault =>
  new Fault('MODEL_LOAD_FAILED', `its LoRA ${file} does not fit: ${why}`, { cause });
