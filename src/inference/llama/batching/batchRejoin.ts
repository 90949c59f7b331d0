import type { BatchItem, PrioritizedBatchItem } from 'node-llama-cpp';

/**
 * Makes the next batch wait for the sequences of the last one, which are about to ask for their next token. node-llama-cpp
 * chooses the next batch as soon as one sequence has done so, a few microtasks before the others: these miss that batch, so
 * that of four sequences three are in each batch, and one with a long prompt in the same batch is in every second. A batch without items
 * makes it look again some microtasks later (node-llama-cpp 3.21.1, `dispatchPendingBatch`); 7 times are enough.
 */
export class BatchRejoin {
  /** Sequences of the last batch that got all they had asked for, and items that it left. */
  #served = 0;
  #left = 0;
  #rounds = 0;

  /** Whether to look again before a batch of these items is chosen. */
  shouldWait(items: readonly BatchItem[]): boolean {
    if (items.length >= this.#served + this.#left || this.#rounds >= maxRounds) return false;
    this.#rounds++;
    return true;
  }

  /** Records the batch that was chosen of these items. */
  onBatch(items: readonly BatchItem[], batch: readonly PrioritizedBatchItem[]): void {
    this.#served = batch.filter(({ item, processAmount }) => processAmount === item.tokens.length).length;
    this.#left = items.length - this.#served;
    this.#rounds = 0;
  }
}

/** A sequence that has ended does not ask again; looking so often takes microseconds. */
const maxRounds = 24;
