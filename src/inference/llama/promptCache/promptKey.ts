import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { getModuleVersion, type LlamaModel as Weights } from 'node-llama-cpp';
import type { KvCacheType, LoadOptions } from '../../contract/engine.ts';
import type { ModelFile } from '../threads/threadTimingsCache.ts';

/** Settings that a KV state depends on. */
export interface PromptSettings extends Pick<LoadOptions, 'loras'> {
  /** Tokens. */
  readonly contextSize: number;
  readonly kvCacheType?: KvCacheType;
}

/**
 * What the state of a prompt depends on apart from its tokens: the model file, its LoRA adapters, the release of the engine, and settings. The
 * number of slots is none of them: see `loadState`.
 */
export async function promptKey(
  weights: Weights,
  { file, size }: ModelFile,
  settings: PromptSettings,
): Promise<string> {
  const { mtimeMs } = await stat(file);
  const { llama, gpuLayers } = weights;
  const { contextSize, kvCacheType = 'f16', loras = [] } = settings;
  const engine = `${await getModuleVersion()} ${llama.llamaCppRelease.release}`;
  // Adapters change every KV state. Their order changes none, but rounds differently.
  const adapters = await Promise.all(loras.map(async ({ file: lora, scale }) => `${await sha256(lora)} * ${scale}`));
  return [size, mtimeMs, engine, llama.gpu, gpuLayers, contextSize, kvCacheType, ...adapters].join(' | ');
}

async function sha256(file: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(file), hash);
  return hash.digest('hex');
}
