import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import { commonPrefixLength } from '../../../base/commonPrefix.ts';
import { MovingAverage, type BatchTimer } from '../batching/batchTimer.ts';
import { loadState } from './loadState.ts';
import { reusableLength, reusePrefix } from './prefixReuse.ts';
import type { SlotOwner } from './slots.ts';
import type { StateFile, StateFiles } from '../cacheFiles.ts';

interface SwappedState {
  readonly tokens: readonly Token[];
  readonly bytes: number;
  readonly file: StateFile;
}

/**
 * Swaps the KV state of evicted sequences out to disk and back in, when measured I/O is faster than prefilling again. A
 * state is only ever swapped in for the owner it belongs to.
 *
 * | step     | skipped when one of these is true                                                |
 * | -------- | -------------------------------------------------------------------------------- |
 * | swap out | the owner is disposed                                                            |
 * | swap out | under 16 tokens, or a disk error in the last 60 s, or no room in the store       |
 * | swap out | write and read time (estimated bytes) is at least the prefill time of the tokens |
 * | swap in  | the state has no more of the prompt's prefix than the slot                       |
 * | swap in  | read time is more than the prefill time of the tokens gained                     |
 */
export class StateSwap {
  readonly #store: StateFiles;
  readonly #batchTimer: BatchTimer;
  readonly #states = new Map<SlotOwner, Promise<SwappedState | undefined>>();
  readonly #writeMsPerByte = new MovingAverage();
  readonly #readMsPerByte = new MovingAverage();
  readonly #disposedOwners = new WeakSet<SlotOwner>();
  #bytesPerToken: number;
  #bytes = 0;
  #saved = 0;
  #restored = 0;
  /** No state is written before this time, in milliseconds: the disk has failed. */
  #pausedUntil = 0;

  /** @param bytesPerToken estimated size of one token's state, used until the first state is written. */
  constructor(store: StateFiles, batchTimer: BatchTimer, bytesPerToken: number) {
    this.#store = store;
    this.#batchTimer = batchTimer;
    this.#bytesPerToken = bytesPerToken;
  }

  /**
   * Swaps out: writes what a slot's cache holds of its evicted owner to disk, if that is worth it. A file has no checkpoints: the
   * state of a cache that needs them is written as of where the owner's next prompt can resume.
   * @param stableTokens with which that prompt begins. Default: all.
   */
  async swapOut(owner: SlotOwner, cache: LlamaContextSequence, stableTokens = Infinity): Promise<void> {
    const previousState = this.#states.get(owner);
    const writing = (async () => {
      await (await previousState)?.file.drop();
      const stable = cache.contextTokens.slice(0, stableTokens);
      if (cache.needsCheckpoints && reusableLength(cache, stable) > 0) await reusePrefix(cache, stable);
      const tokens = cache.contextTokens;
      return !this.#disposedOwners.has(owner) && this.#isWorth(tokens.length, tokens.length)
        ? this.#write(owner, cache, tokens)
        : undefined;
    })();
    this.#states.set(owner, writing);
    await writing;
  }

  /** Loads the owner's state, if faster than prefill. @throws when it cannot be read: `cache` is unknown then. */
  async swapIn(owner: SlotOwner, cache: LlamaContextSequence, prompt: Token[]): Promise<void> {
    const state = await this.#states.get(owner);
    this.#states.delete(owner);
    if (!state) return;
    state.file.beginRead();
    try {
      const shared = commonPrefixLength(state.tokens, prompt);
      // See swapOut: such a state cannot be cut back.
      const usable = cache.needsCheckpoints && shared < state.tokens.length ? 0 : shared;
      const tokensGained = usable - reusableLength(cache, prompt);
      if (tokensGained <= 0) return;
      const prefillMs = tokensGained * (this.#batchTimer.prefillMsPerToken.value ?? Infinity);
      const readMs = state.bytes * (this.#readMsPerByte.value ?? 0);
      if (prefillMs < readMs) return;
      const start = performance.now();
      if (!(await loadState(cache, { path: state.file.path, bytes: state.bytes }, this.#store))) return;
      this.#readMsPerByte.add((performance.now() - start) / state.bytes);
      this.#restored++;
    } finally {
      await state.file.drop();
    }
  }

  /** Copies another slot's state, if faster than prefill. @throws when it cannot be read: `cache` is unknown then. */
  async copy(source: LlamaContextSequence, cache: LlamaContextSequence, prompt: Token[]): Promise<void> {
    const gained = reusableLength(source, prompt) - reusableLength(cache, prompt);
    const tokens = source.nextTokenIndex;
    if (!this.#isWorth(gained, tokens)) return;
    const saved = await this.#save(source, tokens, () => undefined);
    if (!saved) return;
    try {
      await loadState(cache, { path: saved.file.path, bytes: saved.fileSize }, this.#store);
    } finally {
      await saved.file.drop();
    }
  }

  async discard(owner: SlotOwner): Promise<void> {
    this.#disposedOwners.add(owner);
    const state = this.#states.get(owner);
    this.#states.delete(owner);
    await (await state)?.file.drop();
  }

  stats(): { readonly statesSaved: number; readonly statesRestored: number; readonly stateBytes: number } {
    return { statesSaved: this.#saved, statesRestored: this.#restored, stateBytes: this.#bytes };
  }

  /** Whether it is faster to write and to read the state of some tokens than to prefill those that this gains. */
  #isWorth(gained: number, tokens: number): boolean {
    if (gained < minTokensToSwap || performance.now() < this.#pausedUntil) return false;
    const writeMsPerByte = this.#writeMsPerByte.value ?? 0;
    const swapMs = tokens * this.#bytesPerToken * (writeMsPerByte + (this.#readMsPerByte.value ?? writeMsPerByte));
    const prefillMs = gained * (this.#batchTimer.prefillMsPerToken.value ?? Infinity);
    return prefillMs > swapMs;
  }

  async #write(
    owner: SlotOwner,
    cache: LlamaContextSequence,
    tokens: readonly Token[],
  ): Promise<SwappedState | undefined> {
    let bytes = 0;
    // The caller has set it: this runs after the first await of swapOut.
    const thisState = this.#states.get(owner);
    const saved = await this.#save(cache, tokens.length, () => {
      this.#bytes -= bytes;
      if (this.#states.get(owner) === thisState) this.#states.delete(owner);
    });
    if (!saved) return undefined;
    const { file, fileSize, ms } = saved;
    this.#writeMsPerByte.add(ms / fileSize);
    this.#bytesPerToken = fileSize / tokens.length;
    file.commit(fileSize);
    bytes = fileSize;
    this.#bytes += bytes;
    this.#saved++;
    return { tokens, bytes, file };
  }

  /** Writes a state. After a disk error no state is written for a while: its tokens are prefilled again instead. */
  async #save(cache: LlamaContextSequence, tokens: number, onDrop: () => void) {
    let file: StateFile | undefined;
    try {
      file = await this.#store.reserve(Math.ceil(tokens * this.#bytesPerToken * sizeMargin), onDrop);
      if (!file) return undefined;
      const start = performance.now();
      const { fileSize } = await cache.saveStateToFile(file.path);
      return { file, fileSize, ms: performance.now() - start };
    } catch (error) {
      this.#pausedUntil = performance.now() + diskErrorCooldownMs;
      this.#store.writeFailed(error);
      await file?.drop().catch(() => undefined);
      return undefined;
    }
  }
}

/** Prefilling fewer tokens takes less time than opening a file. */
const minTokensToSwap = 16;
/** The size of a state may exceed the estimate by this factor. */
const sizeMargin = 1.05;
const diskErrorCooldownMs = 60_000;
