import type { EmbedOptions, Embeddings } from '../../../inference/contract/model.ts';
import type { VectorMatrix } from './vectorMatrix.ts';

/** Vectors that are being computed. */
export interface VectorDraft {
  readonly matrix: VectorMatrix;
  /** The vectors that are computed: those before this index. */
  done: number;
  /** How many of their texts were cut. */
  truncated: number;
}

/** What vectors are computed with. */
export interface ComputeOptions {
  readonly texts: readonly string[];
  /** Stands before each text. */
  readonly prefix: string;
  readonly signal: AbortSignal;
  /** A model that is loaded now. @throws when there is none. */
  readonly embed: () => (texts: readonly string[], options: EmbedOptions) => Promise<Embeddings>;
  /** Waits while turns need the processor; called between batches with the milliseconds that the last one took. */
  readonly yieldToTurns: (batchMs: number, signal: AbortSignal) => Promise<void>;
  /** Called after each batch. */
  readonly onProgress: () => void;
}

/** A batch ends within a tenth of a second with most models on most machines. */
const textsPerBatch = 8;

/**
 * Computes the vectors that a draft lacks, in batches that give way to turns. A draft that was interrupted is continued.
 * @throws the reason of the signal; what the model throws.
 */
export async function computeVectors(draft: VectorDraft, options: ComputeOptions): Promise<void> {
  const { texts, prefix, signal, embed, yieldToTurns, onProgress } = options;
  const { values, dimensions } = draft.matrix;
  while (draft.done < texts.length) {
    signal.throwIfAborted();
    const started = performance.now();
    const batch = texts.slice(draft.done, draft.done + textsPerBatch).map((text) => prefix + text);
    const { vectors, truncated } = await embed()(batch, { priority: 'BACKGROUND', signal, truncate: true });
    for (const [index, vector] of vectors.entries()) values.set(vector, (draft.done + index) * dimensions);
    draft.done += batch.length;
    draft.truncated += truncated.length;
    onProgress();
    if (draft.done < texts.length) await yieldToTurns(performance.now() - started, signal);
  }
}
