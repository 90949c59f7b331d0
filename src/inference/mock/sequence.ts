import { setImmediate as nextRound } from 'node:timers/promises';
import {
  type AnswerScores,
  type Completion,
  type FinishReason,
  type GenerateOptions,
  type Model,
  type PromptPiece,
  promptTooLargeFault,
  type ScoreOptions,
  type Sequence,
  type WarmUpResult,
} from '../contract/engine.ts';
import { type ReplyMarks, tagsOf } from '../../chat/replyMarks.ts';
import type { ScriptedReply, ScriptedScores } from './script.ts';
import { EitherSignal, track, untilAborted } from '../../base/abort.ts';
import { afterMs, onAbort, onceAny } from '../../base/events.ts';
import { type InferenceSchedule, TokenThrottle, untilResumed } from '../contract/pace.ts';
import { EmittedText } from '../decoding/streamingDetokenizer.ts';
import { type Message, type Prompt, toTextMessages } from '../../chat/dialog.ts';
import { commonPrefixLength } from '../../base/commonPrefix.ts';

type InferenceOptions = Pick<GenerateOptions, 'message' | 'inference'>;

/** What a script has for an inference of a node. */
export interface ScriptLookup {
  reply(prompt: Prompt, options: InferenceOptions, node: string): ScriptedReply;
  scores(prompt: Prompt, options: InferenceOptions, node: string): ScriptedScores | undefined;
}

type SequenceModel = Pick<Model, 'contextSize' | 'replyMarks'>;

export class MockSequence implements Sequence {
  readonly label: string;
  readonly #model: SequenceModel;
  readonly #lookup: ScriptLookup;
  readonly #onClose: () => void;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #cachedPrompt: readonly Message[] = [];

  constructor(label: string, model: SequenceModel, lookup: ScriptLookup, onClose: () => void) {
    this.label = label;
    this.#model = model;
    this.#lookup = lookup;
    this.#onClose = onClose;
  }

  async generate(prompt: Prompt, options: GenerateOptions): Promise<Completion> {
    const { messages, tokens } = this.#read(prompt);
    const { contextSize, replyMarks } = this.#model;
    const maxTokens = Math.min(options.sampling.max_tokens, contextSize - tokens);
    const scripted = this.#lookup.reply(prompt, options, this.label);
    return this.#run(options.signal, async (signal) => {
      const start = performance.now();
      await untilResumed(options.pace, signal);
      const reused = this.#reuse(messages, tokens, signal);
      const reply = await generateReply(scripted, { ...options, signal }, { maxTokens, replyMarks });
      const { text, rawText, finishReason, firstTextAt } = reply;
      if (text !== '') this.#cachedPrompt = [...messages, { role: 'assistant', text }];
      return {
        text,
        finishReason,
        tokens: { prompt: tokens, reused, generated: countText(text) },
        timings: { queuedMs: 0, firstTokenMs: firstTextAt && firstTextAt - start, totalMs: performance.now() - start },
        ...(options.transcript && { transcript: { prompt: mockPieces(messages), text: rawText } }),
        ...(options.choices && scripted.choices && { choices: scripted.choices }),
      };
    });
  }

  async score(prompt: Prompt, answers: readonly string[], options: ScoreOptions): Promise<AnswerScores> {
    const start = performance.now();
    const { messages, tokens } = this.#read(prompt, Math.max(0, ...answers.map(countText)));
    const script = this.#lookup.scores(prompt, options, this.label);
    return this.#run(options.signal, async (signal) => {
      await untilResumed(options.pace, signal);
      const reused = this.#reuse(messages, tokens, signal);
      const scores = await scoreAnswers(answers, script, messages.at(-1)?.text ?? '', signal);
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
    this.#closing.abort();
    await Promise.allSettled(this.#running);
    this.#onClose();
  }

  /** The messages, and their tokens. @param answer tokens of the longest answer. @throws Fault PROMPT_TOO_LARGE */
  #read(prompt: Prompt, answer?: number): { readonly messages: readonly Message[]; readonly tokens: number } {
    const messages = toTextMessages(prompt);
    const tokens = mockOverhead.prompt + countMessages(messages);
    const { contextSize } = this.#model;
    if (tokens + (answer ?? 0) >= contextSize) throw promptTooLargeFault(tokens, contextSize, answer);
    return { messages, tokens };
  }

  async #run<T>(caller: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    using either = new EitherSignal([caller, this.#closing.signal]);
    return await track(this.#running, work(either.signal));
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

/**
 * Generates a scripted reply chunk by chunk, as a model would, up to its limit, a stop string or the abort signal.
 * @returns the text, also with the control tokens that it leaves out, and when the first of it was emitted; 0 = no text.
 */
async function generateReply(
  reply: ScriptedReply,
  options: GenerateOptions,
  { maxTokens, replyMarks }: { readonly maxTokens: number; readonly replyMarks: ReplyMarks },
) {
  const { signal, onText, backpressure, sampling, controlTokens, pace } = options;
  const throttle = new TokenThrottle(pace, sampling.max_tokens_per_second);
  const tags = tagsOf(replyMarks);
  const shown = Array.isArray(controlTokens) ? [...tags, ...(controlTokens as readonly string[])] : tags;
  const isHidden = (control: string): boolean => controlTokens !== true && !shown.some((tag) => tag.includes(control));
  const fullAnswer = reply.answer.replace(controlTokenPattern, (control) => (isHidden(control) ? '' : control));
  // A recorded answer was cut where its model ended it: its tokens are not those of this engine.
  const answer = reply.finish === undefined ? truncate(fullAnswer, maxTokens) : fullAnswer;
  let firstTextAt = 0;
  const onPiece = (piece: string): void => {
    firstTextAt ||= performance.now();
    onText?.(piece);
  };
  const emitted = new EmittedText({ sampling, onText: onPiece });
  const sendChunks = async (): Promise<FinishReason> => {
    for (const chunk of chunks(answer, reply.chunk)) {
      await waitMs(reply.delay_ms, signal);
      const wait = backpressure?.();
      if (wait) await untilAborted(wait, signal);
      await untilResumed(pace, signal);
      while (throttle.waitMs() > 0 && !signal.aborted) {
        await throttle.untilDue(signal);
        await untilResumed(pace, signal);
      }
      if (signal.aborted) return 'aborted';
      throttle.spend(countText(chunk));
      emitted.emit(chunk, false);
      if (emitted.stopped) return 'stop';
    }
    return reply.finish ?? (answer === fullAnswer ? 'end' : 'length');
  };
  const finishReason = await sendChunks();
  emitted.end();
  const { text } = emitted;
  return { text, rawText: rawBeginning(reply.answer, text.length, isHidden), finishReason, firstTextAt };
}

// Control tokens of a scripted answer, as real vocabularies write them. Those that mark its parts are always text.
const controlTokenPattern = /<\|[^<>|]*\|>|\[TOOL_CALLS\]/g;

/** The beginning of an answer of which so many characters are shown. */
function rawBeginning(answer: string, shown: number, isHidden: (control: string) => boolean): string {
  let end = shown;
  for (const { index, 0: control } of answer.matchAll(controlTokenPattern)) {
    if (index > end) break;
    if (isHidden(control)) end += control.length;
  }
  return answer.slice(0, end);
}

function chunks(text: string, size: number): readonly string[] {
  if (size === 0) return text.match(/\S*\s+|\S+/g) ?? [];
  const characters = [...text];
  return Array.from({ length: Math.ceil(characters.length / size) }, (_, index) =>
    characters.slice(index * size, (index + 1) * size).join(''),
  );
}

/** The probability of an answer that a script does not name, and the smallest one of those that it names. */
const unnamedProbability = 1e-6;
/** The share of all replies that are one of the answers, where a script has no scores. */
const answerShare = 0.99;
const maxCountedWords = 100;

/**
 * The logarithms of the probabilities of answers: those of a script; without one, an answer is ten times as probable for each
 * of its words that occurs in the last message of the prompt.
 * @returns undefined when the signal is aborted.
 */
async function scoreAnswers(
  answers: readonly string[],
  script: ScriptedScores | undefined,
  lastMessage: string,
  signal: AbortSignal,
): Promise<readonly number[] | undefined> {
  // A turn may score answers many times, one after the other: the event loop runs in between.
  await nextRound();
  if (signal.aborted) return undefined;
  for (const _ of answers) {
    if (script) await waitMs(script.delay_ms, signal);
    if (signal.aborted) return undefined;
  }
  if (!script) return scoresByWords(answers, lastMessage);
  const named = new Map(Object.entries(script.scores));
  return answers.map((answer) => Math.log(Math.max(named.get(answer) ?? 0, unnamedProbability)));
}

function scoresByWords(answers: readonly string[], message: string): readonly number[] {
  const known = new Set(wordsOf(message));
  const countKnown = (answer: string): number => wordsOf(answer).filter((word) => known.has(word)).length;
  const weights = answers.map((answer) => 10 ** Math.min(maxCountedWords, countKnown(answer)));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.map((weight) => Math.log((answerShare * weight) / total));
}

const wordsOf = (text: string): readonly string[] => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

const charactersPerToken = 4;

/** Tokens that the mock's chat template adds to a prompt, and to each message. */
export const mockOverhead = { prompt: 3, message: 4 } as const;

/** Messages as the mock's chat template writes them: the role is a control token. */
export const mockPieces = (messages: readonly Message[]): readonly PromptPiece[] =>
  messages.flatMap(({ role, text }) => [
    { text: `${role}: `, special: true },
    { text: `${text}\n`, special: false },
  ]);

/** The number of tokens of a text: one for every four UTF-16 units, rounded up. */
export const countText = (text: string): number => Math.ceil(text.length / charactersPerToken);

/** The number of tokens of messages, including what the chat template adds to each. */
export const countMessages = (messages: readonly Message[]): number =>
  messages.reduce((sum, { text }) => sum + mockOverhead.message + countText(text), 0);

function commonPrefixTokens(a: readonly Message[], b: readonly Message[]): number {
  const unequal = a.findIndex(({ role, text }, index) => role !== b[index]?.role || text !== b[index]?.text);
  const equalMessages = unequal < 0 ? a.length : unequal;
  const [nextA, nextB] = [a[equalMessages], b[equalMessages]];
  const partial =
    nextA && nextA.role === nextB?.role
      ? mockOverhead.message + Math.floor(commonPrefixLength(nextA.text, nextB.text) / charactersPerToken)
      : 0;
  return countMessages(a.slice(0, equalMessages)) + partial;
}

/** The beginning of a text that fits in so many tokens; surrogate pairs stay whole. */
function truncate(text: string, tokens: number): string {
  const end = Math.max(0, tokens * charactersPerToken);
  const splitsPair = /[\uD800-\uDBFF]/.test(text.charAt(end - 1)) && end < text.length;
  return text.slice(0, splitsPair ? end - 1 : end);
}

/** Waits so many milliseconds, or until the signal is aborted. */
const waitMs = async (milliseconds: number, signal: AbortSignal): Promise<void> =>
  milliseconds === 0 ? undefined : onceAny(afterMs(milliseconds), onAbort(signal));
