/** Bytes of RAM and of GPU memory. */
export interface MemoryUse {
  readonly ram: number;
  readonly vram: number;
}

/** What the parts of a model take. */
export interface ModelMemory {
  readonly weights: MemoryUse;
  /** The context: the KV caches of all slots, and its compute buffers. */
  readonly context: MemoryUse;
  /** What each slot has of the context. */
  readonly slot: MemoryUse;
  /** What its checkpoints may take at most, within a limit; absent: it needs none, or there is no limit. */
  readonly checkpoints?: MemoryUse;
}

/** How a model can be loaded, and what it would take. */
export interface LoadPlan extends ModelMemory {
  readonly slots: number;
  /** Tokens of one slot. */
  readonly contextSize: number;
}

/** No memory at all. */
export const noMemory: MemoryUse = { ram: 0, vram: 0 };

/** The parts of a model that takes no memory, or none that is known. */
export const noModelMemory: ModelMemory = { weights: noMemory, context: noMemory, slot: noMemory };

/** Two amounts of memory together. */
export const addMemory = (a: MemoryUse, b: MemoryUse): MemoryUse => ({ ram: a.ram + b.ram, vram: a.vram + b.vram });

/** What is left of an amount of memory. */
export const subtractMemory = (a: MemoryUse, b: MemoryUse): MemoryUse => ({
  ram: a.ram - b.ram,
  vram: a.vram - b.vram,
});

/** What a whole model takes. */
export const totalMemory = ({
  weights,
  context,
  checkpoints = noMemory,
}: Pick<ModelMemory, 'weights' | 'context' | 'checkpoints'>): MemoryUse =>
  addMemory(addMemory(weights, context), checkpoints);

/** Whether an amount of memory fits in another. */
export const isWithin = (use: MemoryUse, limit: MemoryUse): boolean => use.ram <= limit.ram && use.vram <= limit.vram;
