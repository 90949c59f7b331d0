import type { Token } from '../../decoding/tokenizer.ts';
import { answerFrame, type AnswerNode, createAnswerTree, inTreeOrder, nodesOf } from '../../decoding/answers.ts';
import { greedySampling } from '../inferenceServer.ts';
import { RemoteRunner, type SlotLease } from './remoteRunner.ts';
import { raceAbort } from '../../../base/abort.ts';
import { commonPrefixLength } from '../../../base/commonPrefix.ts';
import type { Message, Prompt } from '../../../chat/dialog.ts';
import { answerMarkAfter, hasTag, openedAtEnd, type ReplyMarks } from '../../../chat/replyMarks.ts';
import {
  type AnswerScores,
  type Completion,
  type GenerateOptions,
  promptTooLargeFault,
  type ScoreOptions,
  type Sequence,
  type Transcript,
  type WarmUpOptions,
  type WarmUpResult,
} from '../../contract/engine.ts';
import type { RenderedPrompt } from '../../decoding/templateRenderer.ts';
import { TokenHistory } from '../../decoding/tokenHistory.ts';
import { promptPieces } from '../../decoding/transcript.ts';
import { TokenThrottle } from '../../contract/pace.ts';
import type { Endpoints } from '../endpoints/endpoints.ts';
import { Generation } from './generation.ts';
import type { RemotePrompts } from './remotePrompts.ts';
import { Segments } from './segments.ts';

/** What a remote sequence uses of its model. */
export interface RemoteSequenceParts {
  readonly label: string;
  readonly endpoints: Endpoints;
  readonly prompts: RemotePrompts;
  readonly replyMarks: ReplyMarks;
  /** White space that the chat template writes before a reply. */
  readonly replyLead: () => string;
  readonly endTokens: readonly Token[];
  /** Tokens. */
  readonly contextSize: number;
  readonly onClose: (sequence: Sequence) => void;
}

/** A sequence whose tokens are computed by an inference server. */
export class RemoteSequence implements Sequence {
  readonly label: string;
  readonly #parts: RemoteSequenceParts;
  readonly #history: TokenHistory;
  readonly #runner: RemoteRunner;

  constructor(parts: RemoteSequenceParts) {
    this.label = parts.label;
    this.#parts = parts;
    this.#history = new TokenHistory(parts.prompts, parts.prompts.vocabulary);
    this.#runner = new RemoteRunner(parts.endpoints, this);
  }

  async generate(prompt: Prompt, options: GenerateOptions): Promise<Completion> {
    const elapsedMs = stopwatch();
    const { prompts, replyMarks, contextSize } = this.#parts;
    const { signal, pace, sampling, priority, backpressure } = options;
    const rendered = prompts.render(prompt);
    const tokens = await this.#tokensOf(rendered, signal);
    if (tokens.length >= contextSize) throw promptTooLargeFault(tokens.length, contextSize);
    const prefix = this.#openedText(rendered.text);
    if (prefix !== '') options.onText?.(prefix);
    const generation = new Generation(options, {
      prompts,
      replyMarks,
      prefix,
      maxContextTokens: contextSize - tokens.length,
      mayReason: prompt.thinking === true,
      answerMark: answerMarkAfter(rendered.text, replyMarks),
    });
    const timings = { queuedMs: 0, firstTokenMs: 0 };
    let reused: number | undefined;
    const throttle = new TokenThrottle(pace, sampling.max_tokens_per_second);
    const segments = new Segments(generation, {
      ...options,
      prompt: tokens,
      biases: await prompts.biases(sampling.logit_bias),
      vocabulary: prompts.vocabulary,
      throttle,
      onToken: () => (timings.firstTokenMs ||= elapsedMs()),
      onReused: (count) => (reused ??= Math.min(count, tokens.length)),
    });
    const { text } = generation;
    const finishReason = await this.#runner.run({
      tokens,
      signal,
      throttle,
      ...(pace && { pace }),
      ...(priority && { priority }),
      ...(backpressure && { backpressure }),
      isStarted: () => segments.isStarted,
      compute: (lease) => {
        timings.queuedMs ||= elapsedMs();
        return segments.compute(lease);
      },
    });
    text.end();
    if (tokens.length > 0) this.#history.remember(rendered, tokens, text.exactPrefix());
    return {
      text: prefix + text.text,
      finishReason: finishReason ?? 'aborted',
      tokens: { prompt: tokens.length, reused: reused ?? 0, generated: text.count },
      timings: { ...timings, queuedMs: timings.queuedMs || elapsedMs(), totalMs: elapsedMs() },
      ...(options.transcript && { transcript: this.#transcript(rendered, tokens, text.transcript) }),
    };
  }

  async score(prompt: Prompt, answers: readonly string[], options: ScoreOptions): Promise<AnswerScores> {
    const elapsedMs = stopwatch();
    const { prompts, replyMarks, contextSize, endTokens } = this.#parts;
    const { signal, pace, priority } = options;
    const rendered = prompts.render(prompt);
    const tokens = await this.#tokensOf(rendered, signal);
    const { opening, closing } = answerFrame(rendered.text, replyMarks);
    const context = [...tokens, ...(await prompts.continuation(opening, true))];
    const end = await prompts.continuation(closing, true);
    const lead = opening === '' ? this.#parts.replyLead() : '';
    const answerTokens: Token[][] = [];
    for (const answer of answers) answerTokens.push([...(await prompts.continuation(lead + answer, false)), ...end]);
    const longest = Math.max(0, ...answerTokens.map(({ length }) => length));
    if (context.length + longest >= contextSize) throw promptTooLargeFault(tokens.length, contextSize, longest);
    let queuedMs = 0;
    let reused: number | undefined;
    const scores = await this.#runner.run({
      tokens: context,
      signal,
      ...(pace && { pace }),
      ...(priority && { priority }),
      isStarted: () => false,
      compute: (lease) => {
        queuedMs ||= elapsedMs();
        return scoreRemotely(
          {
            context,
            answers: answerTokens,
            endTokens,
            onReused: (count) => (reused ??= Math.min(count, tokens.length)),
            shouldPause: () => pace?.limits.paused === true,
          },
          lease,
        );
      },
    });
    if (tokens.length > 0) this.#history.remember(rendered, tokens, { text: '', tokens: [], controlOffsets: [] });
    return {
      scores: scores ?? [],
      finishReason: scores ? 'end' : 'aborted',
      tokens: { prompt: tokens.length, reused: reused ?? 0, generated: 0 },
      timings: { queuedMs: queuedMs || elapsedMs(), firstTokenMs: 0, totalMs: elapsedMs() },
      ...(options.transcript && { transcript: this.#transcript(rendered, tokens, '') }),
    };
  }

  async prefill(prompt: Prompt, signal: AbortSignal, { pace, priority }: WarmUpOptions = {}): Promise<WarmUpResult> {
    const tokens = await this.#stablePrefix(prompt);
    const { length } = tokens;
    if (length >= this.#parts.contextSize) return { tokens: length, kept: 'too_large' };
    if (length === 0) return { tokens: 0, kept: 'no_cache' };
    const done = await this.#runner.run({
      tokens,
      signal,
      isWarmUp: true,
      ...(pace && { pace }),
      ...(priority && { priority }),
      isStarted: () => false,
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#runner.close();
    this.#parts.onClose(this);
  }

  /** The tokens of a prompt; none when the signal is aborted, or the sequence closed, before they are there. */
  async #tokensOf(rendered: RenderedPrompt, signal: AbortSignal): Promise<Token[]> {
    try {
      return await raceAbort(this.#history.tokens(rendered), signal);
    } catch (error) {
      if (signal.aborted || this.#runner.isClosed) return [];
      throw error;
    }
  }

  #transcript(rendered: RenderedPrompt, tokens: readonly Token[], text: string): Transcript {
    const { vocabulary } = this.#parts.prompts;
    const { bosToken } = vocabulary;
    const bos = bosToken !== undefined && tokens[0] === bosToken ? vocabulary.controlSpelling(bosToken) : '';
    const isWritten = rendered.controlSpans[0]?.start === 0 && rendered.text.startsWith(bos);
    return { prompt: promptPieces(rendered, isWritten ? '' : bos), text };
  }

  /** A mark at the end of a prompt, with which its template opens reasoning. It is part of the model's text. */
  #openedText(prompt: string): string {
    const open = openedAtEnd(prompt, this.#parts.replyMarks)?.open ?? '';
    return hasTag(open) || open === '' ? open : `${open}\n`;
  }

  /** The tokens of a prompt that do not depend on the text of its last message. */
  async #stablePrefix(prompt: Prompt): Promise<Token[]> {
    const { prompts } = this.#parts;
    const tokensWith = (text: string): Promise<Token[]> => {
      const last = prompt.messages.at(-1);
      const messages: readonly Message[] = last ? [...prompt.messages.slice(0, -1), { ...last, text }] : [];
      return prompts.tokensYielding(prompts.render({ ...prompt, messages }));
    };
    const [tokens, variant] = [await tokensWith('A'), await tokensWith('B')];
    const end = commonPrefixLength(tokens, variant);
    return end === tokens.length ? [] : tokens.slice(0, end);
  }
}

function stopwatch(): () => number {
  const start = performance.now();
  return () => performance.now() - start;
}

/** Probabilities that are asked for with each token; those of wanted tokens beyond them are asked for one by one. */
const likeliestTokens = 50;
/** Of the smallest positive 32-bit float: a probability that is too small to be measured counts as this. */
const smallestLogprob = Math.log(2 ** -149);

interface RemoteScoring {
  /** The tokens before the answers; at least one. */
  readonly context: readonly Token[];
  readonly answers: readonly (readonly Token[])[];
  /** The end of generation tokens. */
  readonly endTokens: readonly Token[];
  /** Called with the tokens of each request that were in the KV cache. */
  readonly onReused: (tokens: number) => void;
  /** Whether the scoring is to wait: it begins again later. */
  readonly shouldPause: () => boolean;
}

/**
 * The logarithms of the probabilities of answers after a context, each with its end of generation. Each position of the tree of
 * answers is one request for one token, of which the server reports the probability.
 */
async function scoreRemotely(
  { context, answers, endTokens, onReused, shouldPause }: RemoteScoring,
  { endpoint, slot, signal }: SlotLease,
): Promise<readonly number[] | 'paused'> {
  const root = createAnswerTree(answers);
  const known = new Map<AnswerNode, Map<Token, number>>();
  for (const answer of inTreeOrder(answers)) {
    for (const [index, node] of nodesOf(answer, root).entries()) {
      const logprobs = known.get(node) ?? new Map<Token, number>();
      known.set(node, logprobs);
      const wanted = [...node.next.keys(), ...(node.isEnd ? endTokens : [])];
      const prompt = [...context, ...answer.slice(0, index)];
      for (let next; (next = wanted.find((token) => !logprobs.has(token))) !== undefined;) {
        if (shouldPause()) return 'paused';
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
          if (part.reused !== undefined) onReused(part.reused);
          for (const [token, logprob] of part.logprobs ?? []) logprobs.set(token as Token, logprob);
        }
        // A server that does not report it has given it no probability.
        if (!logprobs.has(next)) logprobs.set(next, smallestLogprob);
      }
    }
  }
  return answers.map((answer) => {
    const nodes = nodesOf(answer, root);
    const logprob = (index: number, token: Token): number => {
      const node = nodes[index];
      return Math.max(smallestLogprob, (node && known.get(node)?.get(token)) ?? smallestLogprob);
    };
    const text = answer.reduce((sum, token, index) => sum + logprob(index, token), 0);
    if (endTokens.length === 0) return text;
    const end = endTokens.reduce((sum, token) => sum + Math.exp(logprob(answer.length, token)), 0);
    return text + Math.max(smallestLogprob, Math.log(end));
  });
}
