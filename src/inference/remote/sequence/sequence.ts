import type { Token } from '../../decoding/tokenizer.ts';
import {
  createAnswerTree,
  inTreeOrder,
  nodesOf,
  scoresOf,
  smallestLogprob,
  wantedTokens,
} from '../../decoding/answers.ts';
import { greedySampling } from '../inferenceServer.ts';
import { RemoteRunner, type SlotLease } from './remoteRunner.ts';
import type { Prompt } from '../../../chat/dialog.ts';
import type { ReplyMarks } from '../../../chat/replyMarks.ts';
import type {
  AnswerScores,
  Completion,
  GenerateOptions,
  ScoreOptions,
  Sequence,
  WarmUpOptions,
  WarmUpResult,
} from '../../contract/engine.ts';
import { type ScoringStart, SequencePrompts } from '../../decoding/sequencePrompts.ts';
import { TokenThrottle } from '../../contract/pace.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import { Generation } from './generation.ts';
import type { RemotePrompts } from './remotePrompts.ts';
import { Segments } from './segments.ts';

export interface RemoteSequenceParts {
  readonly label: string;
  readonly endpoints: Endpoints;
  readonly prompts: RemotePrompts;
  readonly replyMarks: ReplyMarks;
  readonly endTokens: readonly Token[];
  /** Whether its server gives the probabilities of tokens. */
  readonly givesChoices: boolean;
  /** Tokens. */
  readonly contextSize: number;
  readonly onClose: (sequence: Sequence) => void;
}

/** A sequence whose tokens are computed by an inference server. */
export class RemoteSequence implements Sequence {
  readonly label: string;
  readonly #parts: RemoteSequenceParts;
  readonly #prompts: SequencePrompts;
  readonly #runner: RemoteRunner;

  constructor(parts: RemoteSequenceParts) {
    this.label = parts.label;
    this.#parts = parts;
    this.#runner = new RemoteRunner(parts.endpoints, this);
    this.#prompts = new SequencePrompts({ ...parts, isClosed: () => this.#runner.isClosed });
  }

  generate(prompt: Prompt, options: GenerateOptions): Promise<Completion> {
    return this.#prompts.generate(prompt, options, async (start) => {
      const { tokens, course } = start;
      const { prompts } = this.#parts;
      const { pace, sampling } = options;
      const generation = new Generation(options, this.#parts, start);
      const throttle = new TokenThrottle(pace, sampling.max_tokens_per_second);
      const segments = new Segments(generation, {
        ...options,
        start,
        biases: await prompts.biases(sampling.logit_bias),
        vocabulary: prompts.vocabulary,
        throttle,
        choices: options.choices === true && this.#parts.givesChoices,
      });
      const finishReason = await this.#runner.run({
        ...options,
        tokens,
        count: () => segments.tokens,
        throttle,
        isStarted: () => segments.isStarted,
        compute: (lease) => {
          course.onSlot();
          return segments.compute(lease);
        },
      });
      return { finishReason, text: generation.text, choices: generation.choices };
    });
  }

  score(prompt: Prompt, answers: readonly string[], options: ScoreOptions): Promise<AnswerScores> {
    return this.#prompts.score(prompt, answers, options, (start) =>
      this.#runner.run({
        ...options,
        tokens: start.context,
        compute: (lease) => {
          start.course.onSlot();
          return this.#score(start, options, lease);
        },
      }),
    );
  }

  async prefill(prompt: Prompt, signal: AbortSignal, schedule: WarmUpOptions = {}): Promise<WarmUpResult> {
    const tokens = await this.#prompts.stablePrefix(prompt);
    const { length } = tokens;
    if (length >= this.#parts.contextSize) return { tokens: length, kept: 'too_large' };
    if (length === 0) return { tokens: 0, kept: 'no_cache' };
    const done = await this.#runner.run({
      ...schedule,
      tokens,
      signal,
      isWarmUp: true,
      compute: async ({ endpoint, slot, signal: ending }) => {
        slot.tokens = tokens;
        const request = { prompt: tokens, slot: slot.id, maxTokens: 0, sampling: greedySampling, seed: 0 };
        for await (const _ of endpoint.server.complete(request, ending));
        return true;
      },
    });
    // The cache of prompts on disk is the server's own.
    return { tokens: length, kept: done ? 'no_cache' : 'stopped' };
  }

  /** Log probabilities of answers with their ends: a request for one token at each position of their tree. */
  async #score(
    { context, answers, course }: ScoringStart,
    { pace }: ScoreOptions,
    { endpoint, slot, signal }: SlotLease,
  ): Promise<readonly number[] | 'paused'> {
    const { endTokens } = this.#parts;
    const root = createAnswerTree(answers);
    for (const answer of inTreeOrder(answers)) {
      for (const [index, node] of nodesOf(answer, root).entries()) {
        const logprobs = (node.logprobs ??= new Map());
        const wanted = wantedTokens(node, endTokens);
        const prompt = [...context, ...answer.slice(0, index)];
        for (let next; (next = wanted.find((token) => !logprobs.has(token))) !== undefined;) {
          if (pace?.limits.paused) return 'paused';
          slot.tokens = prompt;
          const request = {
            prompt,
            slot: slot.id,
            maxTokens: 1,
            sampling: greedySampling,
            seed: 0,
            probabilities: { of: next, likeliest: likeliestTokens },
          };
          for await (const part of endpoint.server.complete(request, signal)) {
            course.reused ??= part.reused;
            for (const [token, logprob] of part.logprobs ?? []) logprobs.set(token as Token, logprob);
          }
          // A server that does not report it has given it no probability.
          if (!logprobs.has(next)) logprobs.set(next, smallestLogprob);
        }
      }
    }
    return scoresOf(answers, root, endTokens);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runner.close();
    this.#parts.onClose(this);
  }
}

/** Probabilities that are asked for with each token; those of wanted tokens beyond them are asked for one by one. */
const likeliestTokens = 50;
