import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import type { GenerateOptions, FinishReason } from '../../engine.ts';
import type { DeferredQueue } from '../batching/deferredQueue.ts';
import type { Sampler } from './sampler.ts';
import { samplingOptions } from './samplingOptions.ts';

export interface DecodeLoopOptions extends Pick<GenerateOptions, 'sampling' | 'backpressure'> {
  readonly cache: LlamaContextSequence;
  /** The tokens behind which is written; what is written is added. */
  readonly context: Token[];
  readonly sampler: Sampler;
  readonly deferredQueue: DeferredQueue;
  readonly shouldStop: () => boolean;
  /** Does a step of the engine. */
  readonly step: <T>(step: () => Promise<T>) => Promise<T>;
  readonly onToken: () => void;
}

/**
 * Draws tokens until something ends them or the client has to catch up. What the cache does not hold of the context is
 * evaluated first. The text of a token is told while the next one is computed.
 */
export async function decode(writing: DecodeLoopOptions): Promise<FinishReason | 'paused'> {
  const { cache, context, sampler, shouldStop, backpressure, onToken } = writing;
  const draws = cache.evaluate(context.slice(cache.nextTokenIndex), {
    ...samplingOptions(writing.sampling, (count) => context.slice(-count)),
    // Asked in the midst of the library's work, where nothing may fail.
    grammarEvaluationState: () => sampler.grammar,
  });
  let next: Token[] = [];
  try {
    for (;;) {
      const ended = sampler.finishReason && flushAndFinish(sampler);
      if (ended) return ended;
      if (shouldStop()) return flushAndFinish(sampler) ?? 'aborted';
      await sampler.prepare();
      const draw = await decodeNext(writing, () => draws.next(next));
      if (sampler.finishReason) return sampler.finishReason;
      if (draw.done) return 'end';
      onToken();
      next = [...sampler.accept(draw.value)];
      context.push(...next);
      if (!sampler.finishReason && backpressure?.()) return flushAndFinish(sampler) ?? 'paused';
    }
  } finally {
    await draws.return();
  }
}

/** Computes the next token, and tells beside it the text of the one before. */
async function decodeNext<T>(
  { sampler, deferredQueue, step }: DecodeLoopOptions,
  compute: () => Promise<T>,
): Promise<T> {
  let failure: { readonly error: unknown } | undefined;
  let over = false;
  const tell = (): void => {
    try {
      if (!over) sampler.flushText();
    } catch (error) {
      failure = { error };
    }
  };
  deferredQueue.defer(tell);
  const result = await step(compute).finally(() => {
    // Perhaps no batch was needed, or it failed; later on, nothing may come any more.
    tell();
    over = true;
  });
  if (failure) throw failure.error;
  return result;
}

/** Tells what is left, and why it ends: a stop string may be in it. */
function flushAndFinish(sampler: Sampler): FinishReason | undefined {
  sampler.flushText();
  return sampler.finishReason;
}
