import { stat } from 'node:fs/promises';
import { getModuleVersion, type LlamaContextSequence, type LlamaModel as Weights, type Token } from 'node-llama-cpp';
import type { KeptState, LoadOptions } from '../../contract/engine.ts';
import type { ModelFile } from '../threads/threadTimingsCache.ts';
import { commonPrefixLength } from '../../../base/commonPrefix.ts';
import { type BatchTimer, MovingAverage } from '../batching/batchTimer.ts';
import { takeCheckpoint } from './checkpoints.ts';
import { loadState } from './loadState.ts';
import { reusableLength } from './prefixReuse.ts';
import { type CacheFiles, type NewPrompt, type SavedPrompt, type StateFile, fileChecksum } from '../cacheFiles.ts';

interface PromptCacheOptions extends Pick<NewPrompt, 'key'> {
  readonly batchTimer: BatchTimer;
  /** Estimated size of one token's state. */
  readonly bytesPerToken: number;
}

/**
 * The prompt cache of a model: the states of the heads of prompts (system message, tools), on disk. A sequence of any agent
 * starts from the longest one that its prompt begins with, when no slot holds more of it. Only what `Sequence.prefill` evaluates
 * is saved, and only where its caller says that no word of a user is in it.
 */
export class PromptCache {
  readonly #files: CacheFiles;
  readonly #options: PromptCacheOptions;
  readonly #readMsPerByte = new MovingAverage();
  readonly #prompts: Promise<Map<string, SavedPrompt>>;
  #restored = 0;

  constructor(files: CacheFiles, options: PromptCacheOptions) {
    this.#files = files;
    this.#options = options;
    this.#prompts = files.prompts.list(options.key).then(
      (prompts) => new Map(prompts.map((prompt) => [prompt.id, prompt])),
      () => new Map<string, SavedPrompt>(),
    );
  }

  /** How many heads were loaded. */
  get restored(): number {
    return this.#restored;
  }

  /** Loads the longest head of a prompt, if faster than prefill. @throws for a failed read: `cache` is unknown then. */
  async restore(cache: LlamaContextSequence, prompt: Token[]): Promise<void> {
    const prompts = await this.#prompts;
    const lengths = [...prompts.values()].map((saved) => ({ saved, length: usableLength(saved, cache, prompt) }));
    const best = lengths.toSorted((a, b) => b.length - a.length || a.saved.bytes - b.saved.bytes)[0];
    if (!best) return;
    const { saved } = best;
    const gained = best.length - reusableLength(cache, prompt);
    const prefillMs = gained * (this.#options.batchTimer.prefillMsPerToken.value ?? Infinity);
    if (gained < minTokens || prefillMs < saved.bytes * (this.#readMsPerByte.value ?? 0)) return;
    const path = await this.#files.prompts.open(saved.id);
    if (path === undefined) return void prompts.delete(saved.id);
    let isUsable = false;
    try {
      const start = performance.now();
      if (!(await loadState(cache, { path, bytes: saved.bytes }, this.#files.states))) {
        prompts.delete(saved.id);
        isUsable = true;
        return;
      }
      this.#readMsPerByte.add((performance.now() - start) / saved.bytes);
      isUsable = commonPrefixLength(saved.tokens, cache.contextTokens) === cache.nextTokenIndex;
      if (!isUsable) throw new Error('the state is that of other tokens');
      await takeCheckpoint(cache, 'head');
      this.#restored++;
    } finally {
      if (!isUsable) prompts.delete(saved.id);
      await this.#files.prompts.close(saved.id, isUsable);
    }
  }

  /** Saves the state of all tokens of a cache, unless they are few, or saved already. @returns whether it is saved. */
  async save(cache: LlamaContextSequence): Promise<KeptState> {
    const prompts = await this.#prompts;
    const { key, bytesPerToken } = this.#options;
    const { states, prompts: store } = this.#files;
    const tokens: readonly number[] = cache.contextTokens;
    const isSaved = [...prompts.values()].some(
      (saved) => saved.tokens.length === tokens.length && commonPrefixLength(saved.tokens, tokens) === tokens.length,
    );
    if (tokens.length < minTokens) return 'few_tokens';
    if (isSaved) return 'present';
    let file: StateFile | undefined;
    try {
      file = await states.reserve(Math.ceil(tokens.length * bytesPerToken), () => undefined);
      if (!file) return 'failed';
      await cache.saveStateToFile(file.path);
      const saved = await store.save({ key, tokens }, file);
      if (saved) prompts.set(saved.id, saved);
      return saved ? 'saved' : 'failed';
    } catch (error) {
      states.writeFailed(error);
      return 'failed';
    } finally {
      await file?.drop().catch(() => undefined);
    }
  }
}

/**
 * How many of its tokens a prompt can be started from. Where a cache needs checkpoints, a state cannot be cut back; a longer one
 * than the slot, which may get longer, is for longer prompts.
 */
function usableLength({ tokens }: SavedPrompt, cache: LlamaContextSequence, prompt: readonly Token[]): number {
  const length = commonPrefixLength<number>(tokens, prompt);
  const isTooLong = tokens.length >= cache.contextSize;
  return isTooLong || (cache.needsCheckpoints && length < tokens.length) ? 0 : length;
}

/** Prefilling fewer tokens takes less time than checking a file. */
const minTokens = 64;

/** What a state depends on apart from its tokens: model file, adapters, engine, settings; see `loadState`. */
export async function promptKey(
  weights: Weights,
  { file, size }: ModelFile,
  { contextSize, kvCacheType = 'f16', loras = [] }: Pick<LoadOptions, 'contextSize' | 'kvCacheType' | 'loras'>,
): Promise<string> {
  const { mtimeMs } = await stat(file);
  const { llama, gpuLayers } = weights;
  const engine = `${await getModuleVersion()} ${llama.llamaCppRelease.release}`;
  // Adapters change every KV state. Their order changes none, but rounds differently.
  const adapters = await Promise.all(
    loras.map(async ({ file: lora, scale }) => `${await fileChecksum(lora)} * ${scale}`),
  );
  return [size, mtimeMs, engine, llama.gpu, gpuLayers, contextSize, kvCacheType, ...adapters].join(' | ');
}
