import { DiskQuota } from '../../base/diskCache.ts';
import type { StateFiles } from './kvCache/stateFiles.ts';
import { StateStore } from './kvCache/stateStore.ts';
import type { PromptFiles } from './promptCache/promptFiles.ts';
import { PromptStore } from './promptCache/promptStore.ts';

/** The cache folder of an engine. What is in it can be deleted at any time. */
export interface CacheFolderOptions {
  /** Folder of swapped KV states, the prompt cache and thread benchmarks. */
  readonly folder: string;
  /** Quota of KV states and the prompt cache together; 0 = neither is written to disk. */
  readonly maxStateBytes: number;
  /** The quota of these bytes, where other stores share it; default: one of its own. */
  readonly quota?: DiskQuota;
  /** Receives the error when a KV state could not be written. */
  readonly onStateError?: (error: unknown) => void;
}

/** What a llama.cpp engine writes to disk apart from its thread benchmarks. */
export interface CacheFiles extends Partial<AsyncDisposable> {
  readonly states: StateFiles;
  readonly prompts: PromptFiles;
}

/** The files of a cache folder. */
export function openCacheFiles(options: CacheFolderOptions): CacheFiles & AsyncDisposable {
  const { folder, maxStateBytes, quota = new DiskQuota(maxStateBytes), onStateError } = options;
  const states = new StateStore(folder, quota, onStateError);
  const prompts = new PromptStore(folder, quota, onStateError);
  return { states, prompts, [Symbol.asyncDispose]: () => states[Symbol.asyncDispose]() };
}
