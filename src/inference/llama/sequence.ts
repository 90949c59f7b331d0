import type { Token } from 'node-llama-cpp';
import type { Message, Prompt } from '../../chat/dialog.ts';
import {
  type AnswerScores,
  type Completion,
  type GenerateOptions,
  type ScoreOptions,
  type Sequence,
  type FinishReason,
  type WarmUpOptions,
  type WarmUpResult,
  promptTooLargeFault,
} from '../contract/engine.ts';
import { TokenThrottle } from '../contract/pace.ts';
import { commonPrefixLength } from '../../base/commonPrefix.ts';
import type { DeferredQueue } from './batching/batchScheduler.ts';
import { createSampler } from './sampling/createSampler.ts';
import { DrawSeeds } from './sampling/drawSeeds.ts';
import { answerMarkAfter, hasTag, openedAtEnd, type ReplyMarks } from '../../chat/replyMarks.ts';
import { dropCheckpoint } from './kvCache/checkpoints.ts';
import { cachedPrefixLength, isRecurrent } from './kvCache/prefixReuse.ts';
import type { GrammarCache } from './sampling/grammarCache.ts';
import { SequenceCache, type SequenceCacheParts } from './kvCache/sequenceCache.ts';
import type { SlotRun } from './kvCache/slotRun.ts';
import { answerFrame } from '../decoding/answers.ts';
import { scoreAnswers } from './scoreAnswers.ts';
import { findBoundaries, type PromptBoundaries, type PromptRenderer } from './promptRenderer.ts';
import type { RenderedPrompt } from '../decoding/templateRenderer.ts';
import { StreamingDetokenizer } from '../decoding/streamingDetokenizer.ts';
import { TokenHistory } from '../decoding/tokenHistory.ts';
import { createTranscript } from '../decoding/transcript.ts';
import type { Tokenizer } from '../decoding/tokenizer.ts';
import { decode, type DecodeLoopOptions } from './sampling/decodeLoop.ts';

/** What a sequence uses of its model. */
export interface SequenceParts extends SequenceCacheParts {
  readonly label: string;
  readonly deferredQueue: DeferredQueue;
  readonly renderer: PromptRenderer;
  readonly tokenizer: Tokenizer;
  readonly grammarCache: GrammarCache;
  readonly replyMarks: ReplyMarks;
  /** See the function of this name. */
  readonly replyLead: () => string;
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
  readonly #history: TokenHistory;
  readonly #cache: SequenceCache;

  constructor(parts: SequenceParts) {
    this.label = parts.label;
    this.#parts = parts;
    this.#history = new TokenHistory(parts.renderer, parts.tokenizer);
    this.#cache = new SequenceCache(this, parts);
  }

  async generate(prompt: Prompt, options: GenerateOptions): Promise<Completion> {
    const elapsedMs = stopwatch();
    const rendered = this.#parts.renderer.render(prompt);
    const tokens = await this.#history.tokens(rendered);
    if (tokens.length >= this.#parts.contextSize) throw promptTooLargeFault(tokens.length, this.#parts.contextSize);
    const prefix = this.#openedText(rendered.text);
    if (prefix !== '') options.onText?.(prefix);
    const stream = new StreamingDetokenizer(this.#parts.tokenizer, {
      precedingTokens: tokens,
      stopStrings: options.sampling.stop,
      controlTokens: options.controlTokens ?? false,
      onText: options.onText ?? (() => {}),
    });
    const timings = { queuedMs: 0, firstTokenMs: 0 };
    const sampler = createSampler(this.#parts, options, {
      stream,
      prefix,
      maxContextTokens: this.#parts.contextSize - tokens.length,
      mayReason: prompt.thinking === true,
      answerMark: answerMarkAfter(rendered.text, this.#parts.replyMarks),
    });
    const context = [...tokens, ...sampler.begin()];
    const boundaries = await this.#boundaries(prompt, rendered, tokens);
    const { signal, pace, sampling } = options;
    const seeds = new DrawSeeds(sampling.seed);
    const throttle = new TokenThrottle(pace, sampling.max_tokens_per_second);
    let reused: number | undefined;
    const finishReason = await this.#cache.run(context, { ...options, throttle }, async (run) => {
      timings.queuedMs ||= elapsedMs();
      const reusedTokens = await this.#cache.prefill(run, context, signal, boundaries);
      reused ??= Math.min(reusedTokens, tokens.length);
      run.slot.stableTokens = undefined;
      if (run.shouldPause) return 'paused';
      const ending = await this.#decode(run, context, {
        ...options,
        sampler,
        seeds,
        throttle,
        onPromptEvaluated: () => this.#cache.takeCheckpointAt(run.slot, 'message', boundaries?.message),
        onToken: () => (timings.firstTokenMs ||= elapsedMs()),
      });
      // A reply of a node with tools is not in its next prompt, and without an answer the message is not, either.
      if (ending !== 'paused') run.slot.stableTokens = prompt.tools && boundaries?.interaction;
      return ending;
    });
    stream.end();
    this.#history.remember(rendered, tokens, stream.exactPrefix());
    const evaluated = { prompt: tokens, generated: stream.tokens };
    return {
      text: prefix + stream.text,
      finishReason: finishReason ?? 'aborted',
      tokens: { prompt: tokens.length, reused: reused ?? 0, generated: stream.tokens.length },
      timings: { ...timings, queuedMs: timings.queuedMs || elapsedMs(), totalMs: elapsedMs() },
      ...(options.transcript && { transcript: createTranscript(rendered, evaluated, this.#parts.tokenizer) }),
    };
  }

  async score(prompt: Prompt, answers: readonly string[], options: ScoreOptions): Promise<AnswerScores> {
    const elapsedMs = stopwatch();
    const { tokenizer, renderer, replyMarks, contextSize } = this.#parts;
    const { signal } = options;
    const rendered = renderer.render(prompt);
    const tokens = await this.#history.tokens(rendered);
    const { opening, closing } = answerFrame(rendered.text, replyMarks);
    const context = [...tokens, ...tokenizer.tokenizeContinuation(opening, true)];
    const end = tokenizer.tokenizeContinuation(closing, true);
    const lead = opening === '' ? this.#parts.replyLead() : '';
    const answerTokens = answers.map((answer) => [...tokenizer.tokenizeContinuation(lead + answer), ...end]);
    const longest = Math.max(0, ...answerTokens.map(({ length }) => length));
    if (context.length + longest >= contextSize) throw promptTooLargeFault(tokens.length, contextSize, longest);
    const boundaries = await this.#boundaries(prompt, rendered, tokens);
    let queuedMs = 0;
    let reused: number | undefined;
    const scores = await this.#cache.run(context, options, async (run) => {
      queuedMs ||= elapsedMs();
      const isAborted = this.#cache.shouldStop(signal);
      const shouldStop = (): boolean => isAborted() || run.shouldPause;
      // Scorings of a turn follow each other: the next one is likely to differ where this one differs from the one before.
      const checkpoints = boundaries && { ...boundaries, message: cachedPrefixLength(run.slot.cache, context) };
      const scoring = scoreAnswers({
        context,
        answers: answerTokens,
        endTokens: tokenizer.endTokens,
        isRecurrent: isRecurrent(run.slot.cache),
        prefill: async (prefix) => {
          if (shouldStop()) return undefined;
          const isFirst = reused === undefined;
          const reusedTokens = await this.#cache.prefill(run, prefix, signal, isFirst ? checkpoints : undefined);
          reused ??= Math.min(reusedTokens, tokens.length);
          await run.untilTurn();
          return shouldStop() ? undefined : run.slot.cache;
        },
        step: (step) => this.#cache.step(run.slot, () => run.takeStep(step)),
      });
      const scored = await scoring.finally(() => dropCheckpoint(run.slot.cache, 'answers'));
      // A scoring that was paused begins again: its prompt is still in the cache.
      return scored ?? (run.shouldPause ? 'paused' : undefined);
    });
    this.#history.remember(rendered, tokens, nothingGenerated);
    const evaluated = { prompt: tokens, generated: [] };
    return {
      scores: scores ?? [],
      finishReason: scores ? 'end' : 'aborted',
      tokens: { prompt: tokens.length, reused: reused ?? 0, generated: 0 },
      timings: { queuedMs: queuedMs || elapsedMs(), firstTokenMs: 0, totalMs: elapsedMs() },
      ...(options.transcript && { transcript: createTranscript(rendered, evaluated, tokenizer) }),
    };
  }

  async prefill(
    prompt: Prompt,
    signal: AbortSignal,
    { keep = false, ...schedule }: WarmUpOptions = {},
  ): Promise<WarmUpResult> {
    const tokens = await this.#stablePrefix(prompt);
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

  #decode(run: SlotRun, context: Token[], options: DecodeOptions): Promise<FinishReason | 'paused'> {
    return decode({
      ...options,
      run,
      context,
      deferredQueue: this.#parts.deferredQueue,
      shouldStop: this.#cache.shouldStop(options.signal),
      tokenizer: this.#parts.tokenizer,
      step: (step) => this.#cache.step(run.slot, step),
    });
  }

  /** Where checkpoints of a prompt are taken; undefined where the cache needs none. */
  async #boundaries(
    prompt: Prompt,
    rendered: RenderedPrompt,
    tokens: readonly Token[],
  ): Promise<PromptBoundaries | undefined> {
    if (!this.#parts.slots.needsCheckpoints) return undefined;
    this.#history.remember(rendered, tokens, nothingGenerated);
    const tokenize = (other: RenderedPrompt): Promise<Token[]> => this.#history.tokens(other);
    return findBoundaries(prompt, { renderer: this.#parts.renderer, tokens, tokenize });
  }

  /**
   * A mark at the end of a prompt, with which its template opens reasoning. It is part of the model's text: without it
   * the reasoning after it could not be recognised.
   */
  #openedText(prompt: string): string {
    const open = openedAtEnd(prompt, this.#parts.replyMarks)?.open ?? '';
    return hasTag(open) || open === '' ? open : `${open}\n`;
  }

  /** The tokens of a prompt that do not depend on the text of its last message. */
  async #stablePrefix(prompt: Prompt): Promise<Token[]> {
    const { renderer } = this.#parts;
    const tokensWith = (text: string): Promise<Token[]> => {
      const last = prompt.messages.at(-1);
      const messages: readonly Message[] = last ? [...prompt.messages.slice(0, -1), { ...last, text }] : [];
      return renderer.tokensYielding(renderer.render({ ...prompt, messages }));
    };
    const tokens = await tokensWith('A');
    const variant = await tokensWith('B');
    const end = commonPrefixLength(tokens, variant);
    return end === tokens.length ? [] : tokens.slice(0, end);
  }
}

const nothingGenerated = { text: '', tokens: [], controlOffsets: [] };

type DecodeOptions = GenerateOptions &
  Pick<DecodeLoopOptions, 'sampler' | 'seeds' | 'throttle' | 'onPromptEvaluated' | 'onToken'>;

function stopwatch(): () => number {
  const start = performance.now();
  return () => performance.now() - start;
}
