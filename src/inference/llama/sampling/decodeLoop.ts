import type { Token } from 'node-llama-cpp';
import type { GenerateOptions, FinishReason } from '../../contract/engine.ts';
import type { DeferredQueue } from '../batching/batchScheduler.ts';
import type { TokenThrottle } from '../../contract/pace.ts';
import type { SlotRun } from '../kvCache/slotRun.ts';
import type { Tokenizer } from '../../decoding/tokenizer.ts';
import type { DrawSeeds } from './drawSeeds.ts';
import type { Sampler } from './sampler.ts';
import { samplingOptions } from './samplingOptions.ts';
import { createTokenBiases } from './tokenBiases.ts';
import { Speculation, type DrawnTokens } from './speculation.ts';

export interface DecodeLoopOptions extends Pick<GenerateOptions, 'sampling' | 'backpressure'> {
  readonly run: SlotRun;
  /** All tokens so far, prompt first; generated ones are appended. */
  readonly context: Token[];
  readonly sampler: Sampler;
  readonly seeds: DrawSeeds;
  /** Counts the tokens. */
  readonly throttle: TokenThrottle;
  readonly deferredQueue: DeferredQueue;
  readonly shouldStop: () => boolean;
  readonly tokenizer: Tokenizer;
  /** Wraps each use of the engine; rejects as the engine does, or with a Fault in place of it. */
  readonly step: <T>(step: () => Promise<T>) => Promise<T>;
  /** Called when the cache holds the context and the first token is sampled; awaited before that token is evaluated. */
  readonly onPromptEvaluated: () => Promise<void>;
  readonly onToken: () => void;
}

/**
 * Decode loop: samples tokens until the sampler finishes, `shouldStop`, the end of the text, or a pause of the run or backpressure
 * ('paused': call it again to continue). Tokens of the context that are not in the KV cache are evaluated first (prefill). The text
 * of a token is emitted while the next one is computed.
 * @throws what `step` rejects with, and what emitting text throws.
 */
export async function decode(options: DecodeLoopOptions): Promise<FinishReason | 'paused'> {
  const { run, context, sampler, sampling, throttle, tokenizer, shouldStop, backpressure } = options;
  const { cache } = run.slot;
  const take = async (token: Token): Promise<Token[]> => {
    options.onToken();
    const appended = [...(await sampler.accept(token))];
    context.push(...appended);
    throttle.spend(appended.length - 1);
    return appended;
  };
  const speculation = speculationOf(options, take);
  const tokens = cache.evaluate(context.slice(cache.nextTokenIndex), {
    ...samplingOptions(sampling, { context, model: cache.model, biases: createTokenBiases(sampling, tokenizer) }),
    // Called inside node-llama-cpp's sampling, where nothing may throw.
    grammarEvaluationState: () => sampler.grammar,
    yieldEogToken: true,
    evaluationPriority: run.evaluationPriority,
  });
  const stopSeeds = options.seeds.applyTo(cache);
  const stopSpeculation = speculation?.apply();
  let appended: Token[] = [];
  let isPrompt = true;
  try {
    for (;;) {
      const finished = sampler.finishReason && flushAndFinish(sampler);
      if (finished) return finished;
      if (shouldStop()) return flushAndFinish(sampler) ?? 'aborted';
      if (run.shouldPause) return flushAndFinish(sampler) ?? 'paused';
      const waitMs = run.tokenWaitMs;
      if (waitMs > 0) {
        sampler.flushText();
        await run.wait(waitMs);
        continue;
      }
      throttle.spend(1);
      await sampler.prepare();
      // Where a grammar constrains the text, most of what could be guessed is forced; after forced text a new part begins.
      if (appended.length === 1 && !sampler.grammar) speculation?.draft(appended.length);
      const sampled = await decodeNext(options, () => run.takeStep(() => tokens.next(appended)));
      if (isPrompt) await options.onPromptEvaluated();
      isPrompt = false;
      const first = sampled.done ? undefined : sampled.value;
      const drawnTokens: DrawnTokens | undefined = await speculation?.end(first, options.step);
      const { drawn, taken = [] } = drawnTokens ?? { drawn: first };
      if (sampler.finishReason) return sampler.finishReason;
      if (sampled.done || (drawn !== undefined && tokenizer.endsGeneration(drawn))) return 'end';
      appended = drawn === undefined ? taken : await take(drawn);
      if (!sampler.finishReason && backpressure?.()) return flushAndFinish(sampler) ?? 'paused';
    }
  } finally {
    stopSpeculation?.();
    stopSeeds();
    await tokens.return();
  }
}

/** The speculation of a generation, where it is wanted and the KV cache can be cut back. */
function speculationOf(options: DecodeLoopOptions, take: (token: Token) => Promise<Token[]>): Speculation | undefined {
  const { run, context, tokenizer, sampler, throttle } = options;
  const { cache } = run.slot;
  if (options.sampling.speculate !== 'prompt' || cache.needsCheckpoints) return undefined;
  const isEnd = (token: Token): boolean => tokenizer.endsGeneration(token);
  const isOver = (): boolean => flushAndFinish(sampler) !== undefined;
  const prepareNext = (): Promise<void> => {
    throttle.spend(1);
    return sampler.prepare();
  };
  return new Speculation({ cache, context, isEnd, isOver, take, prepareNext });
}

/** Computes the next token, and meanwhile emits the text of the previous one. */
async function decodeNext<T>(
  { sampler, deferredQueue, step }: DecodeLoopOptions,
  compute: () => Promise<T>,
): Promise<T> {
  let failure: { readonly error: unknown } | undefined;
  let isOver = false;
  const flush = (): void => {
    try {
      if (!isOver) sampler.flushText();
    } catch (error) {
      failure = { error };
    }
  };
  deferredQueue.defer(flush);
  const result = await step(compute).finally(() => {
    // The deferred flush has not run if no batch was needed or if it failed. From here on it must do nothing.
    flush();
    isOver = true;
  });
  if (failure) throw failure.error;
  return result;
}

/** Emits the remaining text; the finish reason is read after it, because a stop string may be in that text. */
function flushAndFinish(sampler: Sampler): FinishReason | undefined {
  sampler.flushText();
  return sampler.finishReason;
}
