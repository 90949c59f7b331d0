import type { Token } from 'node-llama-cpp';
import type { Prompt } from '../../chat/dialog.ts';
import {
  type AnswerScores,
  type Completion,
  type GenerateOptions,
  type ScoreOptions,
  type Sequence,
  type WarmUpOptions,
  type WarmUpResult,
} from '../contract/engine.ts';
import { TokenThrottle } from '../contract/pace.ts';
import type { DeferredQueue } from './batching/batchScheduler.ts';
import { Sampler } from './sampling/sampler.ts';
import { DrawSeeds } from './sampling/drawSeeds.ts';
import type { ReplyMarks } from '../../chat/replyMarks.ts';
import { dropCheckpoint } from './kvCache/checkpoints.ts';
import { cachedPrefixLength, isRecurrent } from './kvCache/prefixReuse.ts';
import type { GrammarCache } from './sampling/grammarCache.ts';
import { SequenceCache, type SequenceCacheParts } from './kvCache/sequenceCache.ts';
import { scoreAnswers } from './scoreAnswers.ts';
import { findBoundaries, type PromptBoundaries, type PromptRenderer } from './promptRenderer.ts';
import type { RenderedPrompt } from '../decoding/templateRenderer.ts';
import { nothingGenerated, SequencePrompts } from '../decoding/sequencePrompts.ts';
import { decode } from './sampling/decodeLoop.ts';

/** What a sequence uses of its model. */
export interface SequenceParts extends SequenceCacheParts {
  readonly label: string;
  readonly deferredQueue: DeferredQueue;
  readonly prompts: PromptRenderer;
  readonly grammarCache: GrammarCache;
  readonly replyMarks: ReplyMarks;
  /** Tokens. */
  readonly contextSize: number;
  readonly onClose: (sequence: Sequence) => void;
}

/**
 * A sequence of llama.cpp. Each generation acquires a slot, swaps the KV state in, reuses the prompt's cached prefix,
 * prefills the rest in chunks, decodes, and releases the slot; a scoring evaluates the answers in place of the decoding. While
 * the client does not keep up (backpressure) or the session is paused, an inference waits without a slot.
 */
export class LlamaSequence implements Sequence {
  readonly label: string;
  readonly #parts: SequenceParts;
  readonly #prompts: SequencePrompts;
  readonly #cache: SequenceCache;

  constructor(parts: SequenceParts) {
    this.label = parts.label;
    this.#parts = parts;
    this.#prompts = new SequencePrompts(parts);
    this.#cache = new SequenceCache(this, parts);
  }

  generate(prompt: Prompt, options: GenerateOptions): Promise<Completion> {
    return this.#prompts.generate(prompt, options, async (start) => {
      const { rendered, tokens, course } = start;
      const { signal, pace, sampling } = options;
      const sampler = new Sampler(this.#parts, options, start);
      const context = [...tokens, ...(await sampler.begin())];
      const boundaries = await this.#boundaries(prompt, rendered, tokens);
      const seeds = new DrawSeeds(sampling.seed);
      const throttle = new TokenThrottle(pace, sampling.max_tokens_per_second);
      const finishReason = await this.#cache.run(context, { ...options, throttle }, async (run) => {
        course.onSlot();
        const reusedTokens = await this.#cache.prefill(run, context, signal, boundaries);
        course.reused ??= reusedTokens;
        run.slot.stableTokens = undefined;
        if (run.shouldPause) return 'paused';
        const ending = await decode({
          ...options,
          run,
          context,
          sampler,
          seeds,
          throttle,
          deferredQueue: this.#parts.deferredQueue,
          shouldStop: this.#cache.shouldStop(signal),
          tokenizer: this.#parts.prompts.vocabulary,
          step: (step) => this.#cache.step(run.slot, step),
          onPromptEvaluated: () => this.#cache.takeCheckpointAt(run.slot, 'message', boundaries?.message),
          onToken: course.onToken,
        });
        // A reply of a node with tools is not in its next prompt, and without an answer the message is not, either.
        if (ending !== 'paused') run.slot.stableTokens = prompt.tools && boundaries?.interaction;
        return ending;
      });
      return { finishReason, text: sampler.text };
    });
  }

  score(prompt: Prompt, answers: readonly string[], options: ScoreOptions): Promise<AnswerScores> {
    const { signal } = options;
    return this.#prompts.score(prompt, answers, options, async (start) => {
      const { rendered, tokens, course, context } = start;
      const boundaries = await this.#boundaries(prompt, rendered, tokens);
      return this.#cache.run(context, options, async (run) => {
        course.onSlot();
        const isAborted = this.#cache.shouldStop(signal);
        const shouldStop = (): boolean => isAborted() || run.shouldPause;
        // Scorings of a turn follow each other: the next one is likely to differ where this one differs from the one before.
        const checkpoints = boundaries && { ...boundaries, message: cachedPrefixLength(run.slot.cache, context) };
        const scoring = scoreAnswers({
          context,
          answers: start.answers,
          endTokens: this.#parts.prompts.vocabulary.endTokens,
          isRecurrent: isRecurrent(run.slot.cache),
          prefill: async (prefix) => {
            if (shouldStop()) return undefined;
            const isFirst = course.reused === undefined;
            const reusedTokens = await this.#cache.prefill(run, prefix, signal, isFirst ? checkpoints : undefined);
            course.reused ??= reusedTokens;
            await run.untilTurn();
            return shouldStop() ? undefined : run.slot.cache;
          },
          step: (step) => this.#cache.step(run.slot, () => run.takeStep(step)),
        });
        const scored = await scoring.finally(() => dropCheckpoint(run.slot.cache, 'answers'));
        // A scoring that was paused begins again: its prompt is still in the cache.
        return scored ?? (run.shouldPause ? 'paused' : undefined);
      });
    });
  }

  async prefill(
    prompt: Prompt,
    signal: AbortSignal,
    { keep = false, ...schedule }: WarmUpOptions = {},
  ): Promise<WarmUpResult> {
    const tokens = await this.#prompts.stablePrefix(prompt);
    const { length } = tokens;
    if (length >= this.#parts.contextSize) return { tokens: length, kept: 'too_large' };
    // Before the last message, whose text is left out, a head has the system message only.
    const isHead = prompt.messages.slice(0, -1).every(({ role }) => role === 'system');
    const options = { kind: isHead ? 'head' : 'interaction', keep: keep && isHead } as const;
    let [evaluated, losses] = [0, 0];
    const kept = await this.#cache.run(tokens, { ...schedule, signal, isWarmUp: true }, async (run) => {
      if (evaluated > cachedPrefixLength(run.slot.cache, tokens)) losses++;
      run.losses = losses;
      const result = await this.#cache.prefillAll(run, tokens, signal, options);
      evaluated = run.slot.cache.nextTokenIndex;
      return result === 'stopped' && run.shouldPause ? 'paused' : result;
    });
    return { tokens: length, kept: kept ?? 'stopped' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cache.close();
    this.#parts.onClose(this);
  }

  /** Where checkpoints of a prompt are taken; undefined where the cache needs none. */
  async #boundaries(
    prompt: Prompt,
    rendered: RenderedPrompt,
    tokens: readonly Token[],
  ): Promise<PromptBoundaries | undefined> {
    if (!this.#parts.slots.needsCheckpoints) return undefined;
    const { history } = this.#prompts;
    history.remember(rendered, tokens, nothingGenerated);
    const tokenize = (other: RenderedPrompt): Promise<Token[]> => history.tokens(other);
    return findBoundaries(prompt, { renderer: this.#parts.prompts, tokens, tokenize });
  }
}
