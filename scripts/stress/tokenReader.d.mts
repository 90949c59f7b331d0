import type { Token } from 'node-llama-cpp';

export interface Parting {
  readonly place: number;
  readonly words: readonly string[];
  readonly a: number;
  readonly b: number;
  /** The difference of the two probabilities. */
  readonly gap: number;
}

export interface Reader {
  text(tokens: readonly Token[]): string;
  parting(one: readonly Token[], other: readonly Token[]): Promise<Parting>;
  close(): Promise<void>;
}

export function readerOf(file: string, options?: { readonly contextSize?: number }): Promise<Reader>;
