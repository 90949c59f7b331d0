import { Fault } from '../../protocol/fault.ts';
import type { Priority } from './pace.ts';

/** What models are loaded for. */
export const modelPurposes = ['chat', 'embedding'] as const;

/** What a model is loaded for. */
export type ModelPurpose = (typeof modelPurposes)[number];

/** Options of an embedding. */
export interface EmbedOptions {
  /** Default: NORMAL. Texts of a higher priority come first; the text under way is finished. */
  readonly priority?: Priority;
  /** Ends the wait; the text under way is computed to its end. */
  readonly signal: AbortSignal;
  /** Whether a text with more tokens than fit in the context is cut to its beginning; default: it is an error. */
  readonly truncate?: boolean;
}

/** The embeddings of some texts, in their order. */
export interface Embeddings {
  /** Of length 1, so that a dot product is the cosine similarity; all 0 for a text without tokens. */
  readonly vectors: readonly Float32Array[];
  /** The tokens of each text that were evaluated, with those that the model puts around it. */
  readonly tokens: readonly number[];
  /** The indexes of the texts that were cut. */
  readonly truncated: readonly number[];
}

/** What an embedding model was trained to read before its texts; "" = nothing. */
export interface EmbeddingPrefixes {
  /** Before what is searched for. */
  readonly query: string;
  /** Before what is found. */
  readonly document: string;
}

/** How an embedding model computes. */
export interface EmbeddingFacts {
  /** The number of values of a vector. */
  readonly dimensions: number;
  /**
   * What its vectors depend on apart from the texts: the content of its file, its context size, and the release of the
   * engine. Vectors of equal fingerprints can be compared. Absent: they are not kept on disk.
   */
  readonly fingerprint?: string | undefined;
}

/** Scales a vector to length 1, in place. One of zeros stays as it is. */
export function normalizeVector(vector: Float32Array): Float32Array {
  let squares = 0;
  for (const value of vector) squares += value * value;
  if (squares === 0 || !Number.isFinite(squares)) return vector.fill(0);
  const factor = 1 / Math.sqrt(squares);
  for (let index = 0; index < vector.length; index++) vector[index] = (vector[index] ?? 0) * factor;
  return vector;
}

/** PROMPT_TOO_LARGE for a text that an embedding model cannot read as a whole. */
export const textTooLong = (index: number, size: string, maxTokens: number): Fault =>
  new Fault(
    'PROMPT_TOO_LARGE',
    `text ${index + 1} has ${size}, and the embedding model reads ${maxTokens} at most: divide it, or raise context_size of the model`,
  );

/** Why an embedding model does not do what a chat model does. */
export const generatesNothing = (): Fault =>
  new Fault('INFERENCE_FAILED', 'an embedding model generates no text and reads no dialog: use a chat model');
