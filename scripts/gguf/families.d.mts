import type { TinyModel, TinyVocab } from './gguf.mjs';

export interface Family {
  /** Its tool-call format. */
  readonly format: 'chatml' | 'llama3' | 'mistral';
  readonly vocab: TinyVocab;
  readonly chatTemplate: string;
}

export const families: ReadonlyMap<string, Family>;
export function familyGguf(name: string, shape?: Partial<TinyModel>): Buffer;
