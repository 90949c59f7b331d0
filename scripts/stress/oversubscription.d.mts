import type { Reader } from './tokenReader.mjs';
import type { Extent, Result, Stage } from './serverProcess.mjs';

interface Phase {
  readonly answers: number;
  readonly differ: number;
  readonly largestGap: number;
}

export function crowd(
  parts: { readonly server: Stage; readonly alone: Stage; readonly reader: Reader },
  extent: Extent & { readonly atOnce: number },
): Promise<Result<{ readonly agents: number; readonly oneAtATime: Phase; readonly severalAtOnce: Phase }>>;
