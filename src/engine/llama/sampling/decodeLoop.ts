import type { LlamaContextSequence, Token } from 'node-llama-cpp';
import type { GenerateOptions, Stopped } from '../../engine.ts';
import type { Beside } from '../batching/deferredQueue.ts';
import type { Pen } from './sampler.ts';
import { samplingOptions } from './samplingOptions.ts';

export interface Writing extends Pick<GenerateOptions, 'sampling' | 'pace'> {
  readonly cache: LlamaContextSequence;
  /** The tokens behind which is written; what is written is added. */
  readonly context: Token[];
  readonly pen: Pen;
  readonly beside: Beside;
  readonly halted: () => boolean;
  /** Does a step of the engine. */
  readonly step: <T>(step: () => Promise<T>) => Promise<T>;
  readonly onToken: () => void;
}

/**
 * Draws tokens until something ends them or the client has to catch up. What the cache does not hold of the context is
 * evaluated first. The text of a token is told while the next one is computed.
 */
export async function write(writing: Writing): Promise<Stopped | 'paused'> {
  const { cache, context, pen, halted, pace, onToken } = writing;
  const draws = cache.evaluate(context.slice(cache.nextTokenIndex), {
    ...samplingOptions(writing.sampling, (count) => context.slice(-count)),
    // Asked in the midst of the library's work, where nothing may fail.
    grammarEvaluationState: () => pen.grammar,
  });
  let next: Token[] = [];
  try {
    for (;;) {
      const ended = pen.ended && endOf(pen);
      if (ended) return ended;
      if (halted()) return endOf(pen) ?? 'aborted';
      await pen.ready();
      const draw = await told(writing, () => draws.next(next));
      if (pen.ended) return pen.ended;
      if (draw.done) return 'end';
      onToken();
      next = [...pen.take(draw.value)];
      context.push(...next);
      if (!pen.ended && pace?.()) return endOf(pen) ?? 'paused';
    }
  } finally {
    await draws.return();
  }
}

/** Computes the next token, and tells beside it the text of the one before. */
async function told<T>({ pen, beside, step }: Writing, compute: () => Promise<T>): Promise<T> {
  let failure: { readonly error: unknown } | undefined;
  let over = false;
  const tell = (): void => {
    try {
      if (!over) pen.tell();
    } catch (error) {
      failure = { error };
    }
  };
  beside.put(tell);
  const result = await step(compute).finally(() => {
    // Perhaps no batch was needed, or it failed; later on, nothing may come any more.
    tell();
    over = true;
  });
  if (failure) throw failure.error;
  return result;
}

/** Tells what is left, and why it ends: a stop string may be in it. */
function endOf(pen: Pen): Stopped | undefined {
  pen.tell();
  return pen.ended;
}
