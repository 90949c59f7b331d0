import { stat } from 'node:fs/promises';
import { getModuleVersion, type LlamaModel as Weights } from 'node-llama-cpp';
import type { KvCacheType } from '../../engine.ts';
import type { ModelFile } from '../threads/threadTimingsCache.ts';

/**
 * What the state of a prompt depends on apart from its tokens: the model file, the release of the engine, and settings. The
 * number of slots is none of them: see `loadState`.
 */
export async function promptKey(
  weights: Weights,
  { file, size }: ModelFile,
  settings: { readonly contextSize: number; readonly kvCacheType?: KvCacheType },
): Promise<string> {
  const { mtimeMs } = await stat(file);
  const { llama, gpuLayers } = weights;
  const { contextSize, kvCacheType = 'f16' } = settings;
  const engine = `${await getModuleVersion()} ${llama.llamaCppRelease.release}`;
  return [size, mtimeMs, engine, llama.gpu, gpuLayers, contextSize, kvCacheType].join(' | ');
}
