import type { LlamaContextSequence, LlamaModel, Token } from 'node-llama-cpp';
import type { GenerateOptions, FinishReason } from '../../contract/engine.ts';
import type { DeferredQueue } from '../batching/batchScheduler.ts';
import type { TokenThrottle } from '../../contract/pace.ts';
import type { SlotRun } from '../kvCache/slotRun.ts';
import type { Tokenizer } from '../../decoding/tokenizer.ts';
import type { drawSeeds } from './drawSeeds.ts';
import type { Sampler } from './sampler.ts';
import { createTokenBiases, samplingOptions } from './samplingOptions.ts';
import { commonPrefixLength } from '../../../base/commonPrefix.ts';
import { memoized } from '../../../base/memoized.ts';
import { patchMethod } from '../nativePatches.ts';
import { type DecodeTokens, type Draw, watchCandidates } from './candidates.ts';
import { DraftYield } from './draftYield.ts';

export interface DecodeLoopOptions extends Pick<GenerateOptions, 'sampling' | 'backpressure'> {
  readonly run: SlotRun;
  /** All tokens so far, prompt first; generated ones are appended. */
  readonly context: Token[];
  readonly sampler: Sampler;
  readonly applySeeds: ReturnType<typeof drawSeeds>;
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
    ...samplingOptions(sampling, context, cache.model, createTokenBiases(sampling, tokenizer)),
    // Called inside node-llama-cpp's sampling, where nothing may throw.
    grammarEvaluationState: () => sampler.grammar,
    yieldEogToken: true,
    evaluationPriority: run.evaluationPriority,
  });
  const stopSeeds = options.applySeeds(cache);
  const stopSpeculation = speculation?.apply();
  // Outside of a speculation, which draws several times from a batch.
  const stopWatching = sampler.choices && watchCandidates(cache, sampler);
  let appended: Token[] = [];
  let isPrompt = true;
  try {
    for (;;) {
      const finished = sampler.finishReason && flushAndFinish(sampler);
      if (finished) return finished;
      if (shouldStop()) return flushAndFinish(sampler) ?? 'aborted';
      if (run.shouldPause || run.isFull(context.length)) return flushAndFinish(sampler) ?? 'paused';
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
      if (isPrompt) {
        run.onPromptEvaluated();
        await options.onPromptEvaluated();
      }
      isPrompt = false;
      const first = sampled.done ? undefined : sampled.value;
      const { drawn, taken = [] }: DrawnTokens = (await speculation?.end(first)) ?? { drawn: first };
      if (sampler.finishReason) return sampler.finishReason;
      if (sampled.done || (drawn !== undefined && tokenizer.endsGeneration(drawn))) return 'end';
      appended = drawn === undefined ? taken : await take(drawn);
      if (!sampler.finishReason && backpressure?.()) return flushAndFinish(sampler) ?? 'paused';
    }
  } finally {
    stopWatching?.();
    stopSpeculation?.();
    stopSeeds();
    await tokens.return();
  }
}

/** The speculation of a generation, where it is wanted and the KV cache can be cut back. */
function speculationOf(options: DecodeLoopOptions, take: (token: Token) => Promise<Token[]>): Speculation | undefined {
  const { run, context, tokenizer, sampler, throttle, step } = options;
  const { cache } = run.slot;
  if (options.sampling.speculate !== 'prompt' || cache.needsCheckpoints) return undefined;
  const isEnd = (token: Token): boolean => tokenizer.endsGeneration(token);
  const isOver = (): boolean => flushAndFinish(sampler) !== undefined;
  const prepareNext = (): Promise<void> => {
    throttle.spend(1);
    return sampler.prepare();
  };
  return new Speculation({ cache, context, step, isEnd, isOver, take, prepareNext });
}

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

interface SpeculationOptions extends Pick<DecodeLoopOptions, 'context' | 'step'> {
  readonly cache: LlamaContextSequence;
  readonly isEnd: (token: Token) => boolean;
  /** Whether no more tokens are to be taken. */
  readonly isOver: () => boolean;
  /** Appends the tokens of a drawn one to the context, and returns them. */
  readonly take: (token: Token) => Promise<Token[]>;
  /** Prepares the draw of one more token from the same batch. */
  readonly prepareNext: () => Promise<void>;
}

interface DrawnTokens {
  /** The last drawn token, which is not taken; undefined: all are taken. */
  readonly drawn?: Token | undefined;
  /** Where all are taken: the tokens at the end of the context that are not evaluated yet. */
  readonly taken?: Token[];
}

const yieldOf = memoized((_model: LlamaModel) => new DraftYield());

/**
 * Speculative decoding with drafts from the context (prompt lookup). A batch has the tokens to evaluate and a draft after them,
 * with logits for each position. The sampler draws as it would without the draft, one token after the other, and as long as
 * what it appends is the draft, the next token is drawn from the same batch. So the text does not depend on the draft.
 */
class Speculation {
  readonly #options: SpeculationOptions;
  readonly #yield: DraftYield;
  #draft: readonly Token[] = [];
  /** How many tokens of the draft were right. */
  #right = 0;
  /** When the draft was made, in milliseconds; undefined: none was looked for. */
  #draftedAt: number | undefined;
  /** One repeated token says little; a text that has repeated others before goes on to do so. */
  #minMatch = 2;
  #drawnTokens: DrawnTokens | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(options: SpeculationOptions) {
    this.#options = options;
    this.#yield = yieldOf(options.cache.model);
  }

  /** Drafts what may follow the context. @param appended tokens at the end of the context that are to be evaluated. */
  draft(appended: number): void {
    const { cache, context, isEnd } = this.#options;
    // Without the last cell the library would shift the context.
    const room = cache.contextSize - 1 - cache.nextTokenIndex - appended;
    const draft = draftFrom(context, this.#minMatch, room);
    const end = draft.findIndex(isEnd);
    const usable = end < 0 ? draft : draft.slice(0, end);
    this.#draft = this.#yield.allows(usable.length) ? usable : [];
    this.#draftedAt = performance.now();
  }

  /**
   * Ends a batch, and removes the tokens of a refuted draft from the KV cache.
   * @param first the token that was drawn after the last one of the context; undefined: none.
   * @throws what `isOver`, `take` and `prepareNext` throw.
   */
  async end(first: Token | undefined): Promise<DrawnTokens> {
    const { cache, context, step } = this.#options;
    const drawnTokens = this.#drawnTokens ?? { drawn: first };
    const failure = this.#failure;
    const start = context.length - (drawnTokens.taken?.length ?? 0);
    const end = cache.nextTokenIndex;
    if (start < end) await step(() => cache.eraseContextTokenRanges([{ start, end }]));
    if (this.#draftedAt !== undefined)
      this.#yield.record(this.#draft.length, this.#right + 1, performance.now() - this.#draftedAt);
    this.#draft = [];
    this.#right = 0;
    this.#draftedAt = undefined;
    this.#drawnTokens = undefined;
    this.#failure = undefined;
    if (failure) throw failure.error;
    return drawnTokens;
  }

  /** Adds drafts to batches until the returned function is called. @throws Error when this release cannot. */
  apply(): () => void {
    const withDraft =
      (decode: DecodeTokens): DecodeTokens =>
      (tokens, logits, priority, meter, shift, draw, ...rest) => {
        const draft = this.#draft;
        const drawn = draft.length === 0 ? draw : this.#checkedDraw(tokens.length - 1, draw);
        const drawnFrom = [...logits];
        for (const index of draft.keys()) drawnFrom[tokens.length + index] = true;
        return decode([...tokens, ...draft], drawnFrom, priority, meter, shift, drawn, ...rest);
      };
    return patchMethod(this.#options.cache, '_decodeTokens', withDraft);
  }

  /** Draws before the draft, then as far as the draft is right. Never throws: that would end all batches. */
  #checkedDraw(last: number, draw: Draw): Draw {
    let next = last;
    return async (logitIndex, index) => {
      if (index !== next) return undefined;
      const token = await draw(logitIndex, index);
      const rightTokens = await this.#check(token, index - last).catch((error: unknown) => {
        this.#failure = { error };
        return 0;
      });
      next = rightTokens > 0 ? index + rightTokens : -1;
      return token;
    };
  }

  /** Compares a drawn token with the draft from an offset on; returns how many tokens are right, 0 = draw no more. */
  async #check(token: Token | null | undefined, offset: number): Promise<number> {
    const { isOver, take, prepareNext } = this.#options;
    const draft = this.#draft.slice(offset);
    // The draw has failed. Later ones are repeated in the next batch; the first one is an error of the library's.
    if (token === null || token === undefined || token < 0) return 0;
    this.#drawnTokens = { drawn: token };
    if (draft[0] !== token || isOver()) return 0;
    this.#minMatch = 1;
    this.#right++;
    const taken = await take(token);
    this.#drawnTokens = { taken };
    if (commonPrefixLength(taken, draft) < taken.length || isOver()) return 0;
    await prepareNext();
    return taken.length;
  }
}

/** Longer repetitions tell no more about the next token. */
const maxMatchLength = 16;
/** A drafted token costs about a third of a batch of its own, and the third one is seldom right after a short repetition. */
const minDraftLength = 2;

/**
 * Drafts the next tokens by prompt lookup: what followed where the last tokens occurred before. The places where most of
 * the last tokens are repeated count; where they go on in different ways, nothing is drafted. After a long repetition the
 * draft is longer.
 * @param context the prompt and the text after it.
 * @param minMatch how many of the last tokens have to be repeated.
 * @param maxTokens largest number of drafted tokens.
 */
export function draftFrom(context: readonly Token[], minMatch: number, maxTokens: number): readonly Token[] {
  const last = context.length - 1;
  let bestLength = 0;
  let places: number[] = [];
  for (let place = last - 1; place >= 0; place--) {
    if (context[place] !== context[last]) continue;
    const length = repetitionLength(context, place);
    if (length > bestLength) places = [];
    if (length >= bestLength) places.push(place + 1);
    bestLength = Math.max(bestLength, length);
  }
  const [latest] = places;
  if (latest === undefined || bestLength < minMatch || places.some((place) => context[place] !== context[latest]))
    return [];
  const length = Math.max(minDraftLength, bestLength / 2);
  return context.slice(latest, latest + Math.max(0, Math.min(length, maxTokens)));
}

function repetitionLength(context: readonly Token[], place: number): number {
  let length = 1;
  while (length < maxMatchLength && length <= place && context[place - length] === context[context.length - 1 - length])
    length++;
  return length;
}
