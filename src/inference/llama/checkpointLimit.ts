import type { LlamaContext } from 'node-llama-cpp';
import { noMemory, totalMemory, type MemoryUse, type ModelMemory } from '../contract/memory.ts';
import { limitCheckpoints } from './kvCache/checkpoints.ts';

/**
 * Limits the checkpoints of a model to what its load has left of a limit of memory.
 * @returns the memory of the model, with what its checkpoints may take.
 */
export function withCheckpoints(context: LlamaContext, memory: ModelMemory, within: MemoryUse): ModelMemory {
  const { isRecurrent, isHybrid, swaSize } = context.model.fileInsights;
  const needsCheckpoints = isRecurrent || isHybrid || swaSize !== undefined;
  if (!needsCheckpoints || !Number.isFinite(within.ram)) return memory;
  const bytes = limitCheckpoints(context, Math.max(0, within.ram - totalMemory(memory).ram));
  return { ...memory, checkpoints: { ...noMemory, ram: bytes } };
}
