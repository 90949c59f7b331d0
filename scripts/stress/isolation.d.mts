import type { Reader } from './tokenReader.mjs';
import type { Extent, Result, Stage } from './serverProcess.mjs';

export function isolate(
  parts: { readonly server: Stage; readonly reader: Reader },
  extent: Extent & { readonly count: number; readonly seed: number },
): Promise<Result<{ readonly turns: number; readonly ownInAnswers: number; readonly prompts: number }>>;
