import { noDialect } from '../../chat/dialect/toolDialect.ts';
import { defaultReplyMarks } from '../../chat/replyMarks.ts';
import {
  generatesNothing,
  normalizeVector,
  textTooLong,
  type EmbedOptions,
  type Embeddings,
} from '../contract/model.ts';
import type { Model, ModelStats, Sequence } from '../contract/engine.ts';
import { mockStats } from './mockStats.ts';
import { countText } from './tokens.ts';

const dimensions = 64;

/** An embedding model without weights: texts are similar as far as they share words. */
export class MockEmbeddingModel implements Model {
  readonly contextSize: number;
  readonly toolDialect = noDialect('an embedding model has no chat template');
  readonly replyMarks = defaultReplyMarks;
  readonly canSpeculate = false;
  readonly notes = [];
  readonly overhead = { prompt: 0, message: 0 };
  readonly embedding = { dimensions };
  readonly #onClose: () => void;

  constructor(contextSize: number, onClose: () => void) {
    this.contextSize = contextSize;
    this.#onClose = onClose;
  }

  async embed(texts: readonly string[], { signal, truncate = false }: EmbedOptions): Promise<Embeddings> {
    signal.throwIfAborted();
    const counts = texts.map(countText);
    const truncated = [...counts.keys()].filter((index) => (counts[index] ?? 0) > this.contextSize);
    const [first] = truncated;
    if (first !== undefined && !truncate) throw textTooLong(first, `${counts[first]} tokens`, this.contextSize);
    return {
      vectors: texts.map(hashedWords),
      tokens: counts.map((count) => Math.min(count, this.contextSize)),
      truncated,
    };
  }

  async count(texts: readonly string[]): Promise<readonly number[]> {
    return texts.map(countText);
  }

  countTools(): Promise<number> {
    return Promise.reject(generatesNothing());
  }

  render(): Promise<string> {
    return Promise.reject(generatesNothing());
  }

  openSequence(): Sequence {
    throw generatesNothing();
  }

  stats(): ModelStats {
    return { ...mockStats, sequences: 0 };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#onClose();
  }
}

/** Counts words by their hash (feature hashing): the sign keeps unlike words apart that share a place. */
function hashedWords(text: string): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    let hash = 2_166_136_261;
    for (let index = 0; index < word.length; index++) hash = Math.imul(hash ^ word.charCodeAt(index), 16_777_619);
    const place = (hash >>> 8) % dimensions;
    vector[place] = (vector[place] ?? 0) + (hash & 1 ? 1 : -1);
  }
  return normalizeVector(vector);
}
