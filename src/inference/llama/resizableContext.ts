import type { LlamaModel as Weights } from 'node-llama-cpp';
import type { KvCacheType, LoadOptions } from '../contract/engine.ts';
import { addMemory, subtractMemory, type ModelMemory } from '../contract/memory.ts';
import { contextEstimates } from './contextMemory.ts';
import type { ModelContext } from './createContext.ts';
import { limitCheckpoints } from './kvCache/checkpoints.ts';
import type { ResizableContext } from './kvCache/slotResizer.ts';
import { freeBytes } from './memoryCheck.ts';

/** What a loaded model says of its context. */
export interface ContextFacts extends Pick<LoadOptions, 'resizing'> {
  /** Tokens. */
  readonly contextSize: number;
  readonly kvCacheType: KvCacheType;
  readonly memory: ModelMemory;
}

/** The context of a loaded model, and how it is made again with another number of slots. */
export function resizableContext(
  weights: Weights,
  { context, makeContext }: ModelContext,
  { contextSize, kvCacheType, memory, resizing }: ContextFacts,
): ResizableContext {
  const { fileInsights, gpuLayers, llama } = weights;
  const estimate = contextEstimates(fileInsights, { gpuLayers, kvCacheType });
  const initial = { slots: context.totalSequences, contextSize };
  return {
    context,
    resizing,
    freeMemory: () => freeBytes(llama),
    async makeContext(slots, signal) {
      const made = await makeContext(slots, signal);
      if (memory.checkpoints) limitCheckpoints(made, memory.checkpoints.ram);
      return made;
    },
    // Other models of this process may be loaded meanwhile, so the difference is estimated and not measured.
    async memoryWith(slots) {
      const more = subtractMemory(await estimate({ slots, contextSize }), await estimate(initial));
      return { ...memory, context: addMemory(memory.context, more) };
    },
  };
}
