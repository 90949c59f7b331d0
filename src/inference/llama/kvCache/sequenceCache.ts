import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import type { GenerateOptions, KeptState } from '../../contract/engine.ts';
import { rankOf } from '../../decoding/slotQueue.ts';
import { fastTokens } from '../batching/batchScheduler.ts';
import {
  type CheckpointKind,
  checkpointKinds,
  type CheckpointPlaces,
  checkpointsOf,
  takeCheckpoint,
} from './checkpoints.ts';
import { cachedPrefixLength, prefill, type PrefillOptions, reusableLength, reusePrefix } from './prefixReuse.ts';
import { describeError, Fault } from '../../../protocol/fault.ts';
import { track, untilAborted } from '../../../base/abort.ts';
import { type TokenThrottle, untilResumed } from '../../contract/pace.ts';
import type { PromptCache } from './promptCache.ts';
import { SlotRun, type SlotRunOptions } from './slotRun.ts';
import type { Slot, SlotOwner } from './slots.ts';
import type { StateSwap } from './stateSwap.ts';

export interface SequenceCacheParts extends Pick<SlotRunOptions, 'slots' | 'contextSize' | 'gate' | 'threadCap'> {
  /** Makes the slots long enough for so many tokens, and for some more. @throws Fault when it cannot: see `SlotResizer` */
  readonly reserve: (tokens: number, spare: number) => Promise<void>;
  /** Swap for the KV states of evicted sequences; undefined: they are prefilled again. */
  readonly stateSwap: StateSwap | undefined;
  /** The prompt cache on disk; undefined: there is none. */
  readonly promptCache: PromptCache | undefined;
  /** Prompt tokens that are evaluated between two checks of the signal. */
  readonly prefillChunkTokens: number;
}

export type SlotSchedule = Pick<GenerateOptions, 'signal' | 'backpressure' | 'pace' | 'priority'> & {
  readonly throttle?: TokenThrottle;
  /** The number of tokens that are evaluated after the prompt; default: 0. */
  readonly added?: number;
  /** For how many more there is to be room, if there is memory; default: 0. */
  readonly spare?: number;
  /** See `SlotRequest`. */
  readonly isWarmUp?: boolean;
};

/** Work with a slot: ends with `paused` soon after the run `shouldPause`, and is called again when it may continue. */
export type SlotWork<T> = (run: SlotRun) => Promise<T | 'paused'>;

/** The KV cache of a sequence. Each run acquires a slot, swaps the KV state in, works, and releases the slot. */
export class SequenceCache {
  readonly #owner: SlotOwner;
  readonly #parts: SequenceCacheParts;
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  /** Aborted when the sequence is disposed of. */
  readonly closing: AbortSignal = this.#closing.signal;

  constructor(owner: SlotOwner, parts: SequenceCacheParts) {
    this.#owner = owner;
    this.#parts = parts;
  }

  /** Whether a run with this signal is to end. */
  shouldStop(signal: AbortSignal): () => boolean {
    return () => signal.aborted || this.closing.aborted;
  }

  /** Runs work with a slot; without one during backpressure and pauses. @returns undefined: a wait was aborted. */
  run<T>(prompt: Token[], schedule: SlotSchedule, work: SlotWork<T>): Promise<T | undefined> {
    return track(this.#running, this.#run(prompt, schedule, work));
  }

  /** Prefills the rest of tokens in the own slot, in the background, if it is idle and has nearly all. @returns whether it did. */
  prefillIdle(tokens: Token[], signal: AbortSignal): Promise<boolean> {
    const slot = this.#parts.slots.acquireOwn(this.#owner);
    return slot ? track(this.#running, this.#prefillIdle(slot, tokens, signal)) : Promise.resolve(false);
  }

  async #prefillIdle(slot: Slot, tokens: Token[], signal: AbortSignal): Promise<boolean> {
    const background = { priority: 'BACKGROUND', pace: undefined, throttle: undefined } as const;
    try {
      const missing = tokens.length - cachedPrefixLength(slot.cache, tokens);
      if (missing > maxIdleTokens || tokens.length >= slot.cache.contextSize) return false;
      using run = new SlotRun({ ...this.#parts, ...background, slot, signals: [signal, this.closing] });
      return (await this.prefillAll(run, tokens, signal, { kind: 'interaction', keep: false })) !== 'stopped';
    } finally {
      this.#parts.slots.release(slot);
    }
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

  /** Prefills a prompt but its last tokens: see `prefillPrompt`. Ends early when the run should pause. */
  prefill(run: SlotRun, tokens: Token[], signal: AbortSignal, checkpoints?: CheckpointPlaces): Promise<number> {
    const options = { ...this.#prefillOptions(run, signal), checkpoints };
    return this.step(run.slot, () => prefillPrompt(run.slot.cache, tokens, options));
  }

  /** Prefills tokens that later prompts begin with, with a checkpoint. @param keep on disk. @returns whether it is. */
  prefillAll(
    run: SlotRun,
    tokens: Token[],
    signal: AbortSignal,
    { kind, keep }: { readonly kind: CheckpointKind; readonly keep: boolean },
  ): Promise<KeptState> {
    return this.step(run.slot, async () => {
      const { cache } = run.slot;
      const { promptCache } = this.#parts;
      const isHeld = reusableLength(cache, tokens) === tokens.length;
      // A state is saved with all tokens of its cache.
      if (!isHeld || (keep && promptCache && cache.nextTokenIndex > tokens.length)) {
        await reusePrefix(cache, tokens);
        await prefill(cache, tokens, tokens.length, this.#prefillOptions(run, signal));
        if (cache.nextTokenIndex === tokens.length) await takeCheckpoint(cache, kind);
      }
      if (reusableLength(cache, tokens) < tokens.length) return 'stopped';
      if (!keep) return 'not_asked';
      return promptCache ? promptCache.save(cache) : 'no_cache';
    });
  }

  /** Takes the checkpoint of the message if the cache ends with it. */
  async takeMessageCheckpoint(slot: Slot, places: CheckpointPlaces = {}): Promise<void> {
    if (slot.cache.nextTokenIndex === places.message)
      await this.step(slot, () => takeCheckpoint(slot.cache, 'message', places));
  }

  #prefillOptions(run: SlotRun, signal: AbortSignal): PrefillOptions {
    const { prefillChunkTokens } = this.#parts;
    const isAborted = this.shouldStop(signal);
    return {
      chunkTokens: run.takesShortSteps ? Math.min(prefillChunkTokens, fastTokens) : prefillChunkTokens,
      shouldStop: () => isAborted() || run.shouldPause,
      evaluationPriority: run.evaluationPriority,
      step: (work) => run.step(work),
    };
  }

  /** Ends all runs and gives the slot back. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#parts.slots.forgetOwner(this.#owner);
    await Promise.allSettled([...this.#running, this.#parts.stateSwap?.discard(this.#owner)]);
  }

  async #run<T>(prompt: Token[], schedule: SlotSchedule, work: SlotWork<T>): Promise<T | undefined> {
    const { signal, backpressure, pace, throttle } = schedule;
    const waited = { ms: 0 };
    for (;;) {
      const wait = backpressure?.();
      if (wait) await untilAborted(wait, signal, this.closing);
      await untilResumed(pace, signal, this.closing);
      const result = await this.#runOnce(prompt, schedule, work, waited);
      if (result !== 'paused') return result;
      await throttle?.untilDue(signal, this.closing);
    }
  }

  async #runOnce<T>(
    prompt: Token[],
    { signal, priority = 'NORMAL', pace, throttle, added = 0, spare = 0, isWarmUp = false }: SlotSchedule,
    work: SlotWork<T>,
    waited: { ms: number },
  ): Promise<T | 'paused' | undefined> {
    const { slots, reserve } = this.#parts;
    const shouldStop = this.shouldStop(signal);
    if (shouldStop()) return undefined;
    const start = performance.now();
    await reserve(prompt.length + 1 + added, spare);
    if (shouldStop()) return undefined;
    const slot = await slots.acquire({ owner: this.#owner, prompt, priority, isWarmUp, waitedMs: waited.ms }, signal);
    if (!slot) return undefined;
    // Waits count together until they have raised its rank: a step between two of them does not begin a new one.
    waited.ms = slot.rank > rankOf(priority) ? 0 : waited.ms + performance.now() - start;
    try {
      await this.#swap(slot, prompt);
      using run = new SlotRun({ ...this.#parts, slot, priority, pace, throttle, signals: [signal, this.closing] });
      return await work(run);
    } finally {
      slots.releaseSource(slot);
      slots.release(slot);
    }
  }

  async #swap(slot: Slot, prompt: Token[]): Promise<void> {
    const { stateSwap, promptCache, slots } = this.#parts;
    if (slot.evicted) await stateSwap?.swapOut(slot.evicted, slot.cache, slot.stableTokens);
    if (slot.evicted) slot.stableTokens = undefined;
    // If the state cannot be read, its tokens are prefilled again.
    await stateSwap?.swapIn(this.#owner, slot.cache, prompt).catch(() => slots.reset(slot));
    if (slot.source) {
      const { cache } = slot.source;
      await stateSwap?.copy(cache, slot.cache, prompt).catch(() => slots.reset(slot));
      slots.releaseSource(slot);
    }
    await promptCache?.restore(slot.cache, prompt).catch(() => slots.reset(slot));
  }
}

/**
 * Reuses the cached prefix of a prompt and prefills whole chunks; the remainder is left to be evaluated with the last token,
 * of which logits are needed. Where the cache needs checkpoints, the prefill stops at their places and takes them.
 * @returns the number of reused tokens.
 */
async function prefillPrompt(
  cache: LlamaContextSequence,
  tokens: Token[],
  options: PrefillOptions & { readonly checkpoints?: CheckpointPlaces | undefined },
): Promise<number> {
  const { chunkTokens, shouldStop, checkpoints = {} } = options;
  const reused = await reusePrefix(cache, tokens.slice(0, -1));
  if (cache.needsCheckpoints) {
    for (const [kind, place] of inOrder(checkpoints)) {
      if (shouldStop()) return reused;
      const isAhead = cache.nextTokenIndex <= place && place < tokens.length;
      if (!isAhead || place < minTokens || isNear(cache, kind, place)) continue;
      // So few tokens are evaluated faster with those after them.
      const isHere = place - cache.nextTokenIndex <= nearTokens && cache.nextTokenIndex > 0;
      if (!isHere && kind === 'interaction' && isShortlyAfterMessage(cache, place)) continue;
      if (!isHere) await prefill(cache, tokens, place, options);
      if (isHere || cache.nextTokenIndex === place) await takeCheckpoint(cache, kind, checkpoints);
    }
  }
  await prefill(cache, tokens, tokens.length - remainderOf(tokens.length - cache.nextTokenIndex, chunkTokens), options);
  return reused;
}

/** The tokens after whole chunks. Fewer than `fastTokens` take longer, so the last chunk leaves more to them. */
function remainderOf(tokens: number, chunkTokens: number): number {
  const remainder = ((tokens - 1) % chunkTokens) + 1;
  return tokens > chunkTokens && chunkTokens >= 2 * fastTokens ? Math.max(remainder, fastTokens) : remainder;
}

const inOrder = (places: CheckpointPlaces): readonly (readonly [CheckpointKind, number])[] =>
  checkpointKinds
    .flatMap((kind) => (places[kind] === undefined ? [] : [[kind, places[kind]] as const]))
    .toSorted(([, a], [, b]) => a - b);

const isNear = (cache: LlamaContextSequence, kind: CheckpointKind, place: number): boolean =>
  checkpointsOf(cache).some(
    (checkpoint) =>
      checkpoint.tokens <= place &&
      checkpoint.tokens >= place - nearTokens &&
      (checkpoint.kind === kind || checkpoint.kind === 'head' || kind === 'message'),
  );

/** Whether the checkpoint of the message before serves as that of the interaction, which ends with the answer to it. */
const isShortlyAfterMessage = (cache: LlamaContextSequence, place: number): boolean =>
  checkpointsOf(cache).some(
    ({ kind, tokens }) => kind === 'message' && tokens <= place && tokens >= place - maxRepeatedTokens,
  );

/** A chat template writes fewer between an answer and the next message. */
const maxIdleTokens = 32;
/** Evaluating fewer tokens takes less time than restoring a checkpoint. */
const minTokens = 16;
const nearTokens = 8;
/** Tokens of an answer that are evaluated again if the message after it does not stay: a checkpoint would divide each prefill. */
const maxRepeatedTokens = 256;
