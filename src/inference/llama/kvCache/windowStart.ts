import type { LlamaContext } from 'node-llama-cpp';
import { patchNativeMethod } from '../nativeMethods.ts';

/**
 * Makes the start of a sliding-window cache the last position at which a part of the window before it is missing. The
 * library takes the first cached token for it: so it would cut a cache back into its first window, resume with a part of
 * the window, and not use a checkpoint that has all of it.
 * @throws Error when this release of node-llama-cpp has no such method.
 */
export function correctWindowStart(context: LlamaContext): void {
  const windowTokens = context.model.fileInsights.swaSize;
  if (windowTokens === undefined) return;
  patchNativeMethod<(sequenceId: number) => number>(context, 'getSequenceKvCacheMinPosition', (firstCached) => {
    return (sequenceId) => {
      const first = firstCached(sequenceId);
      return first > 0 ? first + windowTokens - 1 : first;
    };
  });
}
