import type { Engine, LoadOptions, Model } from '../../contract/engine.ts';
import type { ModelStats } from '../../contract/memory.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { Catalogue, CatalogueEntry, ModelFiles } from '../catalogue/catalogue.ts';
import { remoteModelOf } from '../catalogue/remoteEntry.ts';
import type { MemoryBudget } from './memoryBudget.ts';

export interface PoolOptions extends Pick<LoadOptions, 'slots' | 'threads' | 'gpu' | 'gpuLayers'> {
  readonly catalogue: Catalogue;
  /** The context size of all models; default: that of each entry. */
  readonly contextSize?: number;
  /** The engines of variants that name another one than llama-cpp; absent: an engine with files refuses them. */
  readonly engines?: { readonly [Name in 'http' | 'llama-server']?: Engine };
  /** Whether llama-server runs all chat models from files. Default false. */
  readonly runsInLlamaServer?: boolean;
  /** Whether a model must be named; default: if the engine loads files. */
  readonly needsName?: boolean;
  /** Milliseconds that an unpinned model stays loaded after its last lease was released. */
  readonly idleMs: number;
  /** Called when a model has another number of slots than before. */
  readonly onResized?: (model: string, stats: ModelStats) => void;
  /** What the models of all pools with this budget may take; absent: no limit. */
  readonly budget?: MemoryBudget;
  /** Finds the files of a model; undefined: one is not on disk. Default: the local files of its catalogue entry. */
  readonly findFiles?: (entry: CatalogueEntry) => Promise<ModelFiles | undefined>;
  /**
   * Runs each load and returns the model to use, for metrics; default: calls `load` and nothing else. The signal is aborted
   * when no caller waits for the load any more.
   */
  readonly wrapLoad?: (name: string, load: () => Promise<Model>, signal: AbortSignal) => Promise<Model>;
}

/** How a model is loaded: as its entry says, else as all models of the pool. @param loraFiles paths of its LoRA adapters. */
export function loadOptionsFor(
  entry: CatalogueEntry,
  options: PoolOptions,
  loraFiles: readonly string[] = [],
): LoadOptions {
  const [variant] = entry.variants;
  const loras = loraFiles.map((file, index) => ({ file, scale: variant?.lora?.[index]?.scale ?? 1 }));
  return {
    contextSize: options.contextSize ?? variant?.context_size ?? 0,
    purpose: entry.purpose,
    kvCacheType: variant?.kv_cache_type ?? 'f16',
    slots: options.slots,
    threads: options.threads,
    ...gpuSettingsFor(variant, options),
    ...(loras.length > 0 && { loras }),
    serverArgs: variant?.server_args,
    remote: remoteModelOf(entry),
  };
}

export type GpuSettings = Pick<PoolOptions, 'gpu' | 'gpuLayers'>;

/** Which layers and which backend: of one model, else of the server, whose `off` holds for all models. */
export function gpuSettingsFor(
  variant: Pick<CatalogueEntry['variants'][number], 'gpu' | 'gpu_layers'> | undefined,
  server: GpuSettings,
): GpuSettings {
  if (server.gpu === 'off') return { gpu: 'off' };
  return { gpu: variant?.gpu ?? server.gpu, gpuLayers: variant?.gpu_layers ?? server.gpuLayers };
}

/** The engine that runs a model of a pool. @throws Fault MODEL_LOAD_FAILED when its variant names one that is not there. */
export function engineFor(
  entry: CatalogueEntry,
  engine: Engine,
  { engines = {}, runsInLlamaServer = false }: Pick<PoolOptions, 'engines' | 'runsInLlamaServer'>,
): Engine {
  const [{ engine: named } = { engine: 'llama-cpp' as const }] = entry.variants;
  const isMoved = named === 'llama-cpp' && runsInLlamaServer && entry.purpose === 'chat' && entry.variants.length > 0;
  const name = isMoved ? 'llama-server' : named;
  if (name === 'llama-cpp') return engine;
  const found = engines[name];
  if (found) return found;
  // An engine without files runs whatever it is given.
  if (!engine.needsFiles) return engine;
  throw new Fault(
    'MODEL_LOAD_FAILED',
    `"${entry.name}" has the engine ${name}, and is not available here: use it through a server`,
  );
}
