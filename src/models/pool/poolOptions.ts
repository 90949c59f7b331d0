import type { Engine, LoadOptions, Model, ModelStats } from '../../engine/engine.ts';
import { gpuSettingsFor } from '../../gpuChoice.ts';
import type { MemoryBudget } from './memoryBudget.ts';
import type { Catalogue, CatalogueEntry } from '../catalogue/catalogue.ts';
import { remoteModelOf } from '../catalogue/remoteEntry.ts';

/** Options of a model pool. */
export interface PoolOptions extends Pick<LoadOptions, 'slots' | 'threads' | 'gpu' | 'gpuLayers'> {
  readonly catalogue: Catalogue;
  /** Runs the models that other machines serve; absent: an engine with files refuses them. */
  readonly remoteEngine?: Engine;
  /** Whether a model must be named; default: if the engine loads files. */
  readonly needsName?: boolean;
  /** Milliseconds that an unpinned model stays loaded after its last lease was released. */
  readonly idleMs: number;
  /** Called when a model has another number of slots than before. */
  readonly onResized?: (model: string, stats: ModelStats) => void;
  /** What the models of all pools with this budget may take; absent: no limit. */
  readonly budget?: MemoryBudget;
  /** Finds the file of a model; undefined: not on disk. Default: the local file of its catalogue entry. */
  readonly findFile?: (entry: CatalogueEntry) => Promise<string | undefined>;
  /**
   * Runs each load and returns the model to use, for metrics; default: calls `load` and nothing else. The signal is aborted
   * when no caller waits for the load any more.
   */
  readonly wrapLoad?: (name: string, load: () => Promise<Model>, signal: AbortSignal) => Promise<Model>;
}

/** How a model is loaded: as its entry says, else as all models of the pool. */
export function loadOptionsFor(entry: CatalogueEntry, options: PoolOptions): LoadOptions {
  const [variant] = entry.variants;
  const { slots, threads } = options;
  const { context_size: contextSize = 0, kv_cache_type: kvCacheType = 'f16' } = variant ?? {};
  const gpu = gpuSettingsFor({ gpu: variant?.gpu, gpuLayers: variant?.gpu_layers }, options);
  const { purpose } = entry;
  return { contextSize, purpose, kvCacheType, slots, threads, ...gpu, remote: remoteModelOf(entry) };
}
