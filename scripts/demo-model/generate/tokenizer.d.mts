import type { TinyVocab } from '../../gguf/gguf.d.mts';

/** What a vocabulary is made of, as vocabulary.json keeps it. */
export interface LearntVocabulary {
  readonly phrases: readonly string[];
  readonly merges: readonly string[];
}

export interface DemoVocabulary {
  readonly gguf: TinyVocab;
  readonly ties: readonly (readonly [number, number, number])[];
  encode(text: string): number[];
}

export function vocabularyOf(learnt: LearntVocabulary): DemoVocabulary;
