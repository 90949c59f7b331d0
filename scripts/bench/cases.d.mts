import type { Figure } from './results.mjs';

/** A row of the benchmark; `bench` is what `openBench` of bench.mjs gives. */
export interface Row {
  readonly name: string;
  run(bench: object): Promise<readonly Figure[]>;
}

export const rows: readonly Row[];
