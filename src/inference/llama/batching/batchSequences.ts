import type { BatchItem, LlamaContext, PrioritizedBatchItem } from 'node-llama-cpp';
import { patchMethod, patchNativeMethod } from '../nativePatches.ts';

interface Filler {
  readonly id: number;
  readonly position: number;
}

interface QueuedDecode {
  readonly sequenceId: number;
}

interface NativeContext {
  getSequenceKvCacheMaxPosition(id: number): number;
  removeTokenCellsFromSequence(id: number, start: number, end: number): boolean;
}

type AddToBatch = (id: number, position: number, tokens: Uint32Array, logitIndexes: Uint32Array) => Uint32Array;

/**
 * The sequences of the batches of a context.
 *
 * - A batch begins when all sequences of the last one have asked for their next token. node-llama-cpp chooses it as soon as one has
 *   done so, some microtasks before the others, and keeps the lock of the context while any sequence asks (3.21.1,
 *   `dispatchPendingBatch`). So two sequences that began at different times would each be in every second batch, and one that
 *   needs the lock, since it cuts its cache back, would wait until another one has ended. A batch without items ends that.
 * - They are in the order in which llama.cpp computes them together: each has the id after that of the one before. It divides
 *   others into several parts (ubatches), and reads all weights for each. On two cores, four sequences of a model of 135M
 *   parameters take 29 ms in the order of their ids, and 54 ms in reverse.
 * - Where sequences in between are idle, each of them computes a token, which is removed again: sequences 0 and 2 take 29 ms, and
 *   17 ms with a token of sequence 1.
 */
export class BatchSequences {
  readonly #context: LlamaContext;
  readonly #native: NativeContext;
  readonly #canFill: boolean;
  /** Whether the library has chosen no batch since it has the lock. */
  #isFirst = false;
  /** Those of which a batch computed a part with logits: the library loses these with the lock. */
  readonly #begun = new WeakSet<QueuedDecode>();
  #held: QueuedDecode[] = [];
  #fillers: readonly Filler[] = [];
  #added = 0;
  /** The only sequence of the last batch, and how many such batches the library chose since it has the lock. */
  #only: number | undefined;
  #onlyCount = 0;

  /**
   * @param canFill whether the last token of a cache can be removed.
   * @throws Error when this release of node-llama-cpp is not supported.
   */
  constructor(context: LlamaContext, canFill: boolean) {
    this.#context = context;
    this.#native = Reflect.get(context, '_ctx') as NativeContext;
    this.#canFill = canFill;
    // It has the lock when it calls this, and keeps it for all batches until it calls it again.
    patchMethod<() => void>(context, '_reserveThreads', (reserve) => () => {
      this.#isFirst = true;
      reserve();
    });
    patchNativeMethod<(size: number) => void>(context, 'initBatch', (init) => (size) => {
      this.#added = 0;
      init(size + this.#fillers.length);
    });
    patchNativeMethod<AddToBatch>(context, 'addToBatch', (add) => (id, ...rest) => {
      for (let next; (next = this.#fillers[this.#added]) !== undefined && next.id < id; this.#added++)
        add(next.id, next.position, Uint32Array.of(0), new Uint32Array());
      return add(id, ...rest);
    });
    patchNativeMethod<() => Promise<unknown>>(context, 'decodeBatch', (decode) => async () => {
      const fillers = this.#fillers;
      this.#fillers = [];
      try {
        return await decode();
      } finally {
        for (const { id, position } of fillers) this.#native.removeTokenCellsFromSequence(id, position, position + 1);
      }
    });
  }

  /**
   * Chooses the next batch; without items: not yet. It must not throw: it runs inside node-llama-cpp's decode loop.
   * @param items what the sequences ask for, in the order of the library's queue.
   */
  choose(items: readonly BatchItem[], schedule: () => readonly PrioritizedBatchItem[]): PrioritizedBatchItem[] {
    const queue = Reflect.get(this.#context, '_queuedDecodes') as QueuedDecode[];
    if (!this.#isFirst && !this.#isOnly(queue) && !queue.some((queued) => this.#begun.has(queued))) {
      // The library gives the lock back when its queue is empty.
      if (this.#held.length === 0) setImmediate(() => this.#resume(queue));
      this.#held.push(...queue.splice(0));
      return [];
    }
    if (this.#held.length > 0) {
      queue.unshift(...this.#held.splice(0));
      return [];
    }
    this.#onlyCount = this.#isFirst ? 1 : this.#onlyCount + 1;
    this.#isFirst = false;
    this.#only = queue.length === 1 ? queue[0]?.sequenceId : undefined;
    const queuedOf = new Map(items.map((item, index) => [item, queue[index]]));
    const idOf = ({ item }: PrioritizedBatchItem): number => queuedOf.get(item)?.sequenceId ?? 0;
    const batch = schedule().toSorted((a, b) => idOf(a) - idOf(b));
    for (const { item, processAmount } of batch) {
      const queued = queuedOf.get(item);
      if (queued && processAmount < item.tokens.length && item.logits.slice(0, processAmount).some(Boolean))
        this.#begun.add(queued);
    }
    const canFill = this.#canFill && batch.every(({ item }) => item.tokens.length === 1);
    const fillers = canFill ? this.#fillersBetween(batch.map(idOf)) : [];
    this.#fillers = batch.length + fillers.length <= this.#context.batchSize ? fillers : [];
    return batch;
  }

  /** Whether a sequence that was alone in the last batches still is, and none has had to wait for the lock for long. */
  #isOnly(queue: readonly QueuedDecode[]): boolean {
    return queue.length === 1 && queue[0]?.sequenceId === this.#only && this.#onlyCount < maxOnly;
  }

  #resume(queue: QueuedDecode[]): void {
    if (this.#held.length === 0) return;
    queue.unshift(...this.#held.splice(0));
    this.#context.dispatchPendingBatch();
  }

  #fillersBetween(ids: readonly number[]): Filler[] {
    return ids.flatMap((before, index) => {
      const count = Math.max(0, (ids[index + 1] ?? before) - before - 1);
      if (count > maxFillers) return [];
      const idle = Array.from({ length: count }, (_, offset) => before + 1 + offset);
      const fillers = idle.map((id) => ({ id, position: this.#native.getSequenceKvCacheMaxPosition(id) + 1 }));
      const end = Math.min(maxFillerPosition, this.#context.contextSize);
      return fillers.every(({ position }) => position < end) ? fillers : [];
    });
  }
}

/** Batches of a single sequence between which the lock is not given back: that takes a tenth of a step of the demo model. */
const maxOnly = 4;
/** Between two sequences. More would take longer than a part of their own. */
const maxFillers = 2;
/** It attends to the whole cache of its sequence: one of 500 tokens saves time, one of 3,900 takes more (135M parameters). */
const maxFillerPosition = 1024;
