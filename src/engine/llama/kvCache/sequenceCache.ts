import type { Token } from 'node-llama-cpp';
import { Fault, describeError } from '../../../fault.ts';
import { takeCheckpoint, type CheckpointKind } from './checkpoints.ts';
import { cachedPrefixLength, prefill, reusePrefix } from './prefixReuse.ts';
import { prefillPrompt, type CheckpointPlaces } from './prefillPrompt.ts';
import type { Slot, SlotOwner, SlotPool } from './slots.ts';
import type { StateSwap } from './stateSwap.ts';

/** What the KV cache of a sequence needs. */
export interface SequenceCacheParts {
  readonly slots: SlotPool;
  /** Swap for the KV states of evicted sequences; undefined: they are prefilled again. */
  readonly stateSwap: StateSwap | undefined;
  /** Prompt tokens that are evaluated between two checks of the signal. */
  readonly prefillChunkTokens: number;
}

/**
 * The KV cache of a sequence, in the slot that it has at the time. Each run acquires a slot, swaps the KV state in, works,
 * and releases the slot.
 */
export class SequenceCache {
  readonly #owner: SlotOwner;
  readonly #parts: SequenceCacheParts;
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(owner: SlotOwner, parts: SequenceCacheParts) {
    this.#owner = owner;
    this.#parts = parts;
  }

  /** Aborted when the sequence is disposed of. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Whether a run with this signal is to end. */
  shouldStop(signal: AbortSignal): () => boolean {
    return () => signal.aborted || this.#closing.signal.aborted;
  }

  /** Runs work with a slot for the prompt; undefined when the wait for one was aborted. */
  run<T>(prompt: Token[], signal: AbortSignal, work: (slot: Slot) => Promise<T>): Promise<T | undefined> {
    const running = this.#run(prompt, signal, work);
    this.#running.add(running);
    return running.finally(() => this.#running.delete(running));
  }

  /** Runs a step of llama.cpp. When it fails, the contents of the slot are unknown, so the slot is reset. */
  async step<T>(slot: Slot, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      await Promise.allSettled([this.#parts.slots.reset(slot)]);
      const why = describeError(error);
      throw new Fault('INFERENCE_FAILED', `the engine failed to evaluate tokens: ${why}`, { cause: error });
    }
  }

  /** Prefills a prompt but its last tokens: see `prefillPrompt`. */
  prefill(slot: Slot, tokens: Token[], signal: AbortSignal, checkpoints?: CheckpointPlaces): Promise<number> {
    const { prefillChunkTokens: chunkTokens } = this.#parts;
    const options = { chunkTokens, shouldStop: this.shouldStop(signal), checkpoints };
    return this.step(slot, () => prefillPrompt(slot.cache, tokens, options));
  }

  /** Prefills tokens that a later prompt begins with, and takes a checkpoint at their end where the cache needs one. */
  prefillAll(slot: Slot, tokens: Token[], kind: CheckpointKind, signal: AbortSignal): Promise<void> {
    return this.step(slot, async () => {
      const { cache } = slot;
      if (cachedPrefixLength(cache, tokens) === tokens.length) return;
      await reusePrefix(cache, tokens);
      const options = { chunkTokens: this.#parts.prefillChunkTokens, shouldStop: this.shouldStop(signal) };
      await prefill(cache, tokens, { ...options, end: tokens.length });
      if (cache.nextTokenIndex === tokens.length) await takeCheckpoint(cache, kind);
    });
  }

  /** Takes a checkpoint if the cache holds exactly so many tokens. */
  async takeCheckpointAt(slot: Slot, kind: CheckpointKind, tokens: number | undefined): Promise<void> {
    if (slot.cache.nextTokenIndex === tokens) await this.step(slot, () => takeCheckpoint(slot.cache, kind));
  }

  /** Ends all runs and gives the slot back. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#parts.slots.forgetOwner(this.#owner);
    await Promise.allSettled([...this.#running, this.#parts.stateSwap?.discard(this.#owner)]);
  }

  async #run<T>(prompt: Token[], signal: AbortSignal, work: (slot: Slot) => Promise<T>): Promise<T | undefined> {
    const { slots } = this.#parts;
    const slot = this.#closing.signal.aborted ? undefined : await slots.acquire(this.#owner, prompt, signal);
    if (!slot) return undefined;
    try {
      await this.#swap(slot, prompt);
      return await work(slot);
    } finally {
      slots.release(slot);
    }
  }

  /** Swaps out the KV state of the slot's evicted owner, and swaps in this sequence's own. */
  async #swap(slot: Slot, prompt: Token[]): Promise<void> {
    const { stateSwap, slots } = this.#parts;
    if (slot.evicted) await stateSwap?.swapOut(slot.evicted, slot.cache, slot.stableTokens);
    if (slot.evicted) slot.stableTokens = undefined;
    // If the state cannot be read, its tokens are prefilled again.
    await stateSwap?.swapIn(this.#owner, slot.cache, prompt).catch(() => slots.reset(slot));
  }
}
