import { toTextMessages, type Message, type Prompt } from '../../chat/dialog.ts';
import {
  type AnswerScores,
  type Completion,
  type GenerateOptions,
  type Model,
  type ScoreOptions,
  type Sequence,
  promptTooLargeFault,
  type WarmUpResult,
} from '../contract/engine.ts';
import { generateReply } from './generate.ts';
import { untilResumed, type InferenceSchedule } from '../contract/pace.ts';
import { scoreAnswers } from './scoreAnswers.ts';
import type { ScriptedReply, ScriptedScores } from './script.ts';
import { mockOverhead, commonPrefixTokens, countMessages, countText, mockPieces } from './tokens.ts';

type InferenceOptions = Pick<GenerateOptions, 'message' | 'inference'>;

/** What a script has for an inference of a node. */
export interface ScriptLookup {
  reply(prompt: Prompt, options: InferenceOptions, node: string): ScriptedReply;
  scores(prompt: Prompt, options: InferenceOptions, node: string): ScriptedScores | undefined;
}

type SequenceModel = Pick<Model, 'contextSize' | 'replyMarks'>;

/** A sequence of the mock engine. */
export class MockSequence implements Sequence {
  readonly label: string;
  readonly #model: SequenceModel;
  readonly #lookup: ScriptLookup;
  readonly #onClose: () => void;
  readonly #abortControllers = new Set<AbortController>();
  readonly #runningWork = new Set<Promise<unknown>>();
  #closed = false;
  #cachedPrompt: readonly Message[] = [];

  constructor(label: string, model: SequenceModel, lookup: ScriptLookup, onClose: () => void) {
    this.label = label;
    this.#model = model;
    this.#lookup = lookup;
    this.#onClose = onClose;
  }

  async generate(prompt: Prompt, options: GenerateOptions): Promise<Completion> {
    const messages = toTextMessages(prompt);
    const tokens = mockOverhead.prompt + countMessages(messages);
    const { contextSize } = this.#model;
    if (tokens >= contextSize) throw promptTooLargeFault(tokens, contextSize);
    const reply = this.#lookup.reply(prompt, options, this.label);
    return this.#run(options.signal, (signal) => this.#generate(messages, tokens, reply, { ...options, signal }));
  }

  async score(prompt: Prompt, answers: readonly string[], options: ScoreOptions): Promise<AnswerScores> {
    const start = performance.now();
    const messages = toTextMessages(prompt);
    const tokens = mockOverhead.prompt + countMessages(messages);
    const { contextSize } = this.#model;
    const longest = Math.max(0, ...answers.map(countText));
    if (tokens + longest >= contextSize) throw promptTooLargeFault(tokens, contextSize, longest);
    const script = this.#lookup.scores(prompt, options, this.label);
    return this.#run(options.signal, async (signal) => {
      await untilResumed(options.pace, signal);
      const reused = this.#reuse(messages, tokens, signal);
      const scores = await scoreAnswers(answers, { script, lastMessage: messages.at(-1)?.text ?? '', signal });
      return {
        scores: scores ?? [],
        finishReason: scores ? 'end' : 'aborted',
        tokens: { prompt: tokens, reused, generated: 0 },
        timings: { queuedMs: 0, firstTokenMs: 0, totalMs: performance.now() - start },
        ...(options.transcript && { transcript: { prompt: mockPieces(messages), text: '' } }),
      };
    });
  }

  async prefill(prompt: Prompt, signal: AbortSignal, { pace }: InferenceSchedule = {}): Promise<WarmUpResult> {
    await untilResumed(pace, signal);
    if (signal.aborted) return { tokens: 0, kept: 'stopped' };
    const stablePrefix = toTextMessages(prompt).slice(0, -1);
    if (commonPrefixTokens(this.#cachedPrompt, stablePrefix) < countMessages(stablePrefix))
      this.#cachedPrompt = stablePrefix;
    return { tokens: countMessages(stablePrefix), kept: 'no_cache' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const controller of this.#abortControllers) controller.abort();
    await Promise.allSettled(this.#runningWork);
    this.#onClose();
  }

  /** Runs work with a signal that is aborted with the caller's, or when the sequence is disposed of. */
  async #run<T>(caller: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const controller = new AbortController();
    const abort = (): void => controller.abort();
    if (caller.aborted || this.#closed) abort();
    caller.addEventListener('abort', abort);
    this.#abortControllers.add(controller);
    const running = work(controller.signal);
    this.#runningWork.add(running);
    try {
      return await running;
    } finally {
      this.#runningWork.delete(running);
      this.#abortControllers.delete(controller);
      caller.removeEventListener('abort', abort);
    }
  }

  async #generate(
    messages: readonly Message[],
    tokens: number,
    reply: ScriptedReply,
    options: GenerateOptions,
  ): Promise<Completion> {
    const start = performance.now();
    await untilResumed(options.pace, options.signal);
    const reused = this.#reuse(messages, tokens, options.signal);
    const { contextSize, replyMarks } = this.#model;
    const maxTokens = Math.min(options.sampling.max_tokens, contextSize - tokens);
    const { text, rawText, finishReason, firstTextAt } = await generateReply(reply, options, { maxTokens, replyMarks });
    if (text !== '') this.#cachedPrompt = [...messages, { role: 'assistant', text }];
    return {
      text,
      finishReason,
      tokens: { prompt: tokens, reused, generated: countText(text) },
      timings: { queuedMs: 0, firstTokenMs: firstTextAt && firstTextAt - start, totalMs: performance.now() - start },
      ...(options.transcript && { transcript: { prompt: mockPieces(messages), text: rawText } }),
    };
  }

  /** Caches a prompt, unless the signal is aborted. Returns how many of its tokens were cached already. */
  #reuse(messages: readonly Message[], tokens: number, signal: AbortSignal): number {
    if (signal.aborted) return 0;
    const prefixTokens = commonPrefixTokens(this.#cachedPrompt, messages);
    this.#cachedPrompt = messages;
    // The prompt's overhead is before the first message, so it is reused together with it.
    return prefixTokens === 0 ? 0 : Math.min(tokens - 1, mockOverhead.prompt + prefixTokens);
  }
}
