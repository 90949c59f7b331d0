/** Means of the last batches with drafts of one length. */
interface BatchMeans {
  batches: number;
  ms: number;
  /** Tokens of the text that a batch gave: one, and those of the draft that were right. */
  tokens: number;
}

/**
 * Learns whether drafts pay on a model: more tokens per second than without. On a processor that is bound by arithmetic each
 * drafted token costs a half to two thirds of a batch of its own, on others next to nothing. So batches are timed, for each
 * length of a draft apart; a length that does not pay is tried again now and then, because texts and machines change.
 */
export class DraftYield {
  readonly #byLength = new Map<number, BatchMeans>();
  readonly #skipped = new Map<number, number>();

  /** Whether to evaluate a draft of so many tokens. */
  allows(length: number): boolean {
    const plain = this.#byLength.get(0);
    const drafted = this.#byLength.get(length);
    if (!plain || !drafted || drafted.batches < minBatches) return true;
    if (drafted.tokens * plain.ms >= plain.tokens * drafted.ms) return true;
    const skipped = (this.#skipped.get(length) ?? 0) + 1;
    this.#skipped.set(length, skipped % retryInterval);
    return skipped === retryInterval;
  }

  /** Records a batch. @param length how many tokens were drafted; @param tokens how many it gave. */
  record(length: number, tokens: number, ms: number): void {
    const means = this.#byLength.get(length) ?? { batches: 0, ms, tokens };
    this.#byLength.set(length, means);
    means.batches++;
    const weight = 1 / Math.min(means.batches, meanBatches);
    // One batch with another sequence's prompt in it takes a hundred times as long.
    means.ms += weight * (Math.min(ms, maxOutlier * means.ms) - means.ms);
    means.tokens += weight * (tokens - means.tokens);
  }
}

const minBatches = 4;
/** A draft that does not pay costs about one batch: this often it is 2 % of the time. */
const retryInterval = 48;
const meanBatches = 32;
const maxOutlier = 3;
