import type {
  Token,
  ControlledEvaluateIndexOutput,
  ControlledEvaluateInputItem,
  LlamaContextSequence,
} from 'node-llama-cpp';
import { afterMs, onAbort, onceAny } from '../../base/events.ts';
import type { Message, Prompt } from '../../chat/dialog.ts';
import type {
  AnswerScores,
  Completion,
  GenerateOptions,
  ScoreOptions,
  Sequence,
  WarmUpOptions,
  WarmUpResult,
} from '../contract/engine.ts';
import { TokenThrottle } from '../contract/pace.ts';
import { Sampler, type SamplerModel } from './sampling/sampler.ts';
import { drawSeeds } from './sampling/drawSeeds.ts';
import { dropCheckpoint, takeCheckpoint } from './kvCache/checkpoints.ts';
import { cachedPrefixLength, isRecurrent } from './kvCache/prefixReuse.ts';
import { SequenceCache, type SequenceCacheParts } from './kvCache/sequenceCache.ts';
import { ShortSlotFault } from './kvCache/slotResizer.ts';
import { findBoundaries, type PromptBoundaries } from './promptRenderer.ts';
import type { RenderedPrompt } from '../decoding/templateRenderer.ts';
import { type ScoringStart, SequencePrompts } from '../decoding/sequencePrompts.ts';
import { nothingGenerated } from '../decoding/streamingDetokenizer.ts';
import { decode, type DecodeLoopOptions } from './sampling/decodeLoop.ts';
import type { AnswerNode } from '../decoding/answers.ts';
import { createAnswerTree, inTreeOrder, nodesOf, scoresOf, wantedTokens } from '../decoding/answers.ts';
import { toTokenBias } from './sampling/samplingOptions.ts';

export interface SequenceParts extends SequenceCacheParts, SamplerModel, Pick<DecodeLoopOptions, 'deferredQueue'> {
  readonly label: string;
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
  /** Aborted when the next prompt comes. */
  #idle = new AbortController();
  /** How many tokens of a next prompt were evaluated ahead, the last time. */
  #aheadTokens = 0;

  constructor(parts: SequenceParts) {
    this.label = parts.label;
    this.#parts = parts;
    this.#prompts = new SequencePrompts(parts);
    this.#cache = new SequenceCache(this, parts);
  }

  async generate(prompt: Prompt, options: GenerateOptions): Promise<Completion> {
    this.#idle.abort();
    const completion = await this.#generate(prompt, options);
    const { tokens, finishReason } = completion;
    const isOwn = options.priority !== 'BACKGROUND' && !options.pace?.limits.maxShare && !prompt.tools;
    // Where the last ones were of no use, as in a prompt without a dialog, there is no next prompt that goes on with this one.
    if (tokens.reused < this.#aheadTokens) this.#aheadTokens = Math.min(this.#aheadTokens, tokens.prompt);
    else if (isOwn && finishReason !== 'aborted' && !this.#parts.slots.needsCheckpoints)
      // A failed step has reset the slot: the next prompt is evaluated as a whole.
      this.#prefillAhead(prompt, completion.text).catch(() => undefined);
    return completion;
  }

  #generate(prompt: Prompt, options: GenerateOptions): Promise<Completion> {
    return this.#prompts.generate(prompt, options, async (start) => {
      const { rendered, tokens, course } = start;
      const { signal, pace, sampling } = options;
      const sampler = new Sampler(this.#parts, options, start);
      const context = [...tokens, ...(await sampler.begin())];
      const boundaries = await this.#boundaries(prompt, rendered, tokens);
      const applySeeds = drawSeeds(sampling.seed);
      const throttle = new TokenThrottle(pace, sampling.max_tokens_per_second);
      const schedule = { ...options, throttle, spare: Math.min(sampling.max_tokens, maxSpare) };
      const promptLength = context.length;
      const generating = this.#cache.run(context, schedule, async (run) => {
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
          applySeeds,
          throttle,
          deferredQueue: this.#parts.deferredQueue,
          shouldStop: this.#cache.shouldStop(signal),
          tokenizer: this.#parts.prompts.vocabulary,
          step: (step) => this.#cache.step(run.slot, step),
          onPromptEvaluated: () => this.#cache.takeMessageCheckpoint(run.slot, boundaries),
          onToken: course.onToken,
        });
        // A reply of a node with tools is not in its next prompt, and without an answer the message is not, either.
        if (ending !== 'paused') run.slot.stableTokens = prompt.tools && boundaries?.interaction;
        return ending;
      });
      const finishReason = await generating.catch((error: unknown) => {
        // What has been generated stays: without memory for longer slots the context is full.
        if (error instanceof ShortSlotFault && context.length > promptLength)
          return signal.aborted ? undefined : ('length' as const);
        throw error;
      });
      return { finishReason, text: sampler.text, choices: sampler.choices };
    });
  }

  /** Evaluates what the chat template writes between an answer and the next message, so that the next turn need not. */
  async #prefillAhead({ messages, ...prompt }: Prompt, text: string): Promise<void> {
    const { signal } = (this.#idle = new AbortController());
    const { slots, gate } = this.#parts;
    const isStopped = this.#cache.shouldStop(signal);
    const waitMs = (): number => Math.max(gate.waitMs(), gate.startAt - performance.now());
    const next: Message[] = [...messages, { role: 'assistant', text }, { role: 'user', text: '' }];
    let tokens: Token[] | undefined;
    for (let ms = waitMs(); ms > 0 || !tokens; ms = waitMs()) {
      // Without the slot: another may want it, and would be given one more.
      if (ms > 0) await onceAny(afterMs(ms), gate.onOpen, onAbort(signal), onAbort(this.#cache.closing));
      else tokens = await this.#prompts.stablePrefix({ ...prompt, messages: next });
      // A graphics card evaluates so few tokens in a moment.
      const { slot } = slots.owned.find(({ owner }) => owner === this) ?? {};
      if (isStopped() || slot?.cache.model.gpuLayers !== 0) return;
    }
    if (await this.#cache.prefillIdle(tokens, signal)) this.#aheadTokens = tokens.length;
  }

  score(prompt: Prompt, answers: readonly string[], options: ScoreOptions): Promise<AnswerScores> {
    this.#idle.abort();
    const { signal } = options;
    return this.#prompts.score(prompt, answers, options, async (start) => {
      const { rendered, tokens, course, context } = start;
      const boundaries = await this.#boundaries(prompt, rendered, tokens);
      const added = Math.max(...start.answers.map(({ length }) => length));
      return this.#cache.run(context, { ...options, added }, async (run) => {
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
    this.#idle.abort();
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
    return findBoundaries(prompt, tokens, this.#parts.prompts, tokenize);
  }
}

/** `max_tokens` is often far more than an answer has: one that gets longer than this waits until there is more room. */
const maxSpare = 256;

interface ScoringOptions extends Pick<ScoringStart, 'context' | 'answers'>, Pick<DecodeLoopOptions, 'step'> {
  readonly endTokens: readonly Token[];
  /** Makes a cache hold these tokens but the last ones, evaluated together; undefined: the scoring is to end. */
  readonly prefill: (tokens: Token[]) => Promise<LlamaContextSequence | undefined>;
  /** Whether a cache cannot be cut back between two answers without a checkpoint. */
  readonly isRecurrent: boolean;
}

/**
 * The logarithms of the probabilities of answers after a context, each with its end of generation. The context is evaluated
 * once, together with the first answer; then each answer from where it differs from the one before. Where a cache needs a
 * checkpoint for that, the context is evaluated by itself, and each answer from its start.
 * @returns undefined when `prefill` has ended it.
 */
export async function scoreAnswers(options: ScoringOptions): Promise<readonly number[] | undefined> {
  const { context, answers, endTokens, isRecurrent, prefill, step } = options;
  const root = createAnswerTree(answers);
  const needsCheckpoint = isRecurrent && answers.length > 1;
  const evaluations = needsCheckpoint ? [[], ...inTreeOrder(answers)] : inTreeOrder(answers);
  for (const tokens of evaluations) {
    const path = [...context, ...tokens];
    const nodes = nodesOf(tokens, root);
    const shared = nodes.findIndex(({ logprobs }) => !logprobs);
    if (shared < 0) continue;
    const cache = await prefill(path.slice(0, context.length + shared));
    if (!cache) return undefined;
    const start = cache.nextTokenIndex;
    const evaluated = path.slice(start);
    const nodeAt = (index: number): AnswerNode | undefined => nodes[start + index - (context.length - 1)];
    const wanted = evaluated.map((_, index) => {
      const node = nodeAt(index);
      return node && !node.logprobs ? wantedTokens(node, endTokens) : undefined;
    });
    const probabilities = await step(() => tokenProbabilities(cache, evaluated, wanted));
    for (const [index, known] of probabilities.entries()) {
      const node = nodeAt(index);
      if (node && wanted[index])
        node.logprobs = new Map([...known].map(([token, chance]) => [token, Math.log(chance)]));
    }
    if (needsCheckpoint && tokens.length === 0) await step(() => takeCheckpoint(cache, 'answers'));
  }
  return scoresOf(answers, root, endTokens);
}

/**
 * Evaluates tokens after those that a cache holds.
 * @param wanted for each token: the tokens whose probabilities as the next one are wanted; undefined: none.
 * @returns for each token: the probabilities of its wanted tokens, at temperature 1 and without a sampler.
 */
export async function tokenProbabilities(
  cache: LlamaContextSequence,
  tokens: readonly Token[],
  wanted: readonly (readonly Token[] | undefined)[],
): Promise<readonly ReadonlyMap<Token, number>[]> {
  const input = tokens.map((token, index): ControlledEvaluateInputItem => {
    const wantedTokens = wanted[index];
    if (!wantedTokens) return token;
    const tokenBias = toTokenBias(new Map(wantedTokens.map((other) => [other, bias])), cache.model);
    const options = { temperature: 1, topK: wantedTokens.length + 1, topP: 1, minP: 0, seed: 1, tokenBias };
    return [token, { generateNext: { probabilities: true, confidence: true, options } }];
  });
  const results = await cache.controlledEvaluate(input);
  return tokens.map((_, index) => {
    const wantedTokens = wanted[index];
    return wantedTokens ? absoluteProbabilities(wantedTokens, results[index]?.next ?? {}) : new Map();
  });
}

/**
 * What is added to the logits of the wanted tokens, so that top_k keeps them. A token whose logit is lower than the highest
 * one by more than this has no probability then. Much more than this would exceed the range of 32-bit floats.
 */
const bias = 80;

/**
 * @param next what the library knows of the next token. The confidence is the probability of the most probable one; the
 * probabilities are relative to each other, and those of wanted tokens are too large by `bias`.
 */
function absoluteProbabilities(
  wanted: readonly Token[],
  { confidence, probabilities = new Map() }: Partial<ControlledEvaluateIndexOutput['next']>,
): ReadonlyMap<Token, number> {
  const isWanted = new Set(wanted);
  const relative = new Map<Token, number>();
  for (const [token, probability] of probabilities)
    relative.set(token, isWanted.has(token) ? probability / Math.exp(bias) : probability);
  // The most probable token is a wanted one, or the one more that top_k keeps.
  const highest = Math.max(0, ...relative.values());
  if (confidence === undefined || highest === 0) throw new Error('the logits cannot be read');
  return new Map(wanted.map((token) => [token, (confidence * (relative.get(token) ?? 0)) / highest]));
}
