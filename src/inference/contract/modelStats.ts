import type { ModelMemory } from './modelMemory.ts';

/** Statistics of a loaded model and its slots. Counters start at 0 when the model is loaded. */
export interface ModelStats {
  /** Compute backend: `cpu`, `cuda`, `vulkan`, `metal`, or `mock`. */
  readonly backend: string;
  /** Layers on the GPU. */
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
