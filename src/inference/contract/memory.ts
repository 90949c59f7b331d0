/** Bytes of RAM and of GPU memory. */
export interface MemoryUse {
  readonly ram: number;
  readonly vram: number;
}

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

/** Statistics of a loaded model and its slots. Counters start at 0 when the model is loaded. */
export interface ModelStats {
  /** Compute backend: `cpu`, `cuda`, `vulkan`, `metal`, or `mock`. */
  readonly backend: string;
  readonly gpuLayers: number;
  /** Current number of decode threads; 0 = the model has none of its own. */
  readonly threads: number;
  /** Current number of threads of batches with many prompt tokens; 0 = the model has none of its own. */
  readonly prefillThreads: number;
  /** KV caches in memory (0 = no limit), and how many of them are in use now. */
  readonly slots: number;
  readonly slotsBusy: number;
  /** Requests in the slot queue. */
  readonly waiting: number;
  /** Open sequences. */
  readonly sequences: number;
  /** Bytes of checkpoints in memory: states of KV caches that cannot be cut back, at earlier tokens. */
  readonly checkpointBytes: number;
  /** KV states of evicted sequences that were swapped out to disk, and swapped in again. */
  readonly statesSaved: number;
  readonly statesRestored: number;
  /** States of the prompt cache from which a sequence started. */
  readonly promptsRestored: number;
  /** Bytes of KV states on disk. */
  readonly stateBytes: number;
  /** What it takes. */
  readonly memory: ModelMemory;
}

/** What a model asks and tells the owner of the memory when its number of slots changes while it is loaded. */
export interface SlotResizing {
  /** Whether it may take so much in all from now on. Less than before is always granted. */
  readonly requestMemory: (use: MemoryUse) => Promise<boolean>;
  /** It has another number of slots now. */
  readonly onResized: (stats: ModelStats) => void;
}

export const noMemory: MemoryUse = { ram: 0, vram: 0 };

/** The parts of a model that takes no memory, or none that is known. */
export const noModelMemory: ModelMemory = { weights: noMemory, context: noMemory, slot: noMemory };

export const noStats: ModelStats = {
  backend: 'cpu',
  gpuLayers: 0,
  memory: noModelMemory,
  threads: 0,
  prefillThreads: 0,
  slots: 0,
  slotsBusy: 0,
  waiting: 0,
  sequences: 0,
  checkpointBytes: 0,
  statesSaved: 0,
  statesRestored: 0,
  promptsRestored: 0,
  stateBytes: 0,
};

export const addMemory = (a: MemoryUse, b: MemoryUse): MemoryUse => ({ ram: a.ram + b.ram, vram: a.vram + b.vram });

export const subtractMemory = (a: MemoryUse, b: MemoryUse): MemoryUse => ({
  ram: a.ram - b.ram,
  vram: a.vram - b.vram,
});

export const totalMemory = ({
  weights,
  context,
  checkpoints = noMemory,
}: Pick<ModelMemory, 'weights' | 'context' | 'checkpoints'>): MemoryUse =>
  addMemory(addMemory(weights, context), checkpoints);

/** Whether an amount of memory fits in another. */
export const isWithin = (use: MemoryUse, limit: MemoryUse): boolean => use.ram <= limit.ram && use.vram <= limit.vram;
