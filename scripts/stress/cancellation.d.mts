import type { Reader } from './tokenReader.mjs';
import type { Extent, Result, Stage } from './serverProcess.mjs';

export function cancelAtRandom(
  parts: { readonly server: Stage; readonly other: Stage; readonly reader: Reader; readonly slots: number },
  extent: Extent & { readonly count: number; readonly seed: number; readonly words: number },
): Promise<Result<{ readonly cancels: number; readonly answersCompared: number; readonly slotsAtOnce: number }>>;
