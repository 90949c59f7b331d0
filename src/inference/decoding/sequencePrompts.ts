import type { Token } from 'node-llama-cpp';
import { raceAbort } from '../../base/abort.ts';
import { commonPrefixLength } from '../../base/commonPrefix.ts';
import type { Prompt } from '../../chat/dialog.ts';
import { answerMarkAfter, hasTag, openedAtEnd, type ReplyMarks } from '../../chat/replyMarks.ts';
import {
  type AnswerScores,
  type Completion,
  type FinishReason,
  type GenerateOptions,
  type PromptPiece,
  promptTooLargeFault,
  type ScoreOptions,
  type Transcript,
} from '../contract/engine.ts';
import { answerFrame } from './answers.ts';
import { splitAtSpans } from './controlTokens.ts';
import { nothingGenerated, type StreamingDetokenizer, type GeneratedText } from './streamingDetokenizer.ts';
import { replyLead } from './templateProbes.ts';
import type { PromptTokenizer, RenderedPrompt } from './templateRenderer.ts';
import { closeChoice, type OpenChoice } from './tokenChoices.ts';

/** What an inference is computed from, and what it reports meanwhile. */
interface InferenceStart {
  readonly rendered: RenderedPrompt;
  readonly tokens: Token[];
  readonly course: InferenceCourse;
}

/** What a generation continues. */
export interface GenerationStart extends InferenceStart {
  /** Text that the chat template has begun for the model (a mark that opens reasoning); the generated text continues it. */
  readonly prefix: string;
  /** Largest number of all generated tokens: what is left of the context. */
  readonly maxContextTokens: number;
  /** Whether the model was asked to reason. */
  readonly mayReason: boolean;
  /** The mark that opens the answer, which the prompt has not written; "" = none. */
  readonly answerMark: string;
}

export interface ScoringStart extends InferenceStart {
  /** The tokens before the answers; at least one. */
  readonly context: Token[];
  readonly answers: readonly (readonly Token[])[];
}

interface GenerationResult {
  readonly finishReason: FinishReason | undefined;
  readonly text: Pick<StreamingDetokenizer, 'text' | 'count' | 'transcript' | 'end' | 'exactPrefix'>;
  /** Their offsets are those of `text`. */
  readonly choices: readonly OpenChoice[] | undefined;
}

export interface SequencePromptsParts {
  readonly prompts: PromptTokenizer;
  readonly replyMarks: ReplyMarks;
  /** Tokens. */
  readonly contextSize: number;
  /** Present where tokens come from a server, and are not waited for after an abort: whether the sequence was closed. */
  readonly isClosed?: () => boolean;
}

/** The prompts of a sequence, and what its inferences do before and after their engine computes: it is the same in each. */
export class SequencePrompts {
  readonly history: TokenHistory;
  readonly #parts: SequencePromptsParts;
  #replyLead: string | undefined;

  constructor(parts: SequencePromptsParts) {
    this.#parts = parts;
    this.history = new TokenHistory(parts.prompts);
  }

  /** @param compute generates the text; its `finishReason` is undefined after an abort. */
  async generate(
    prompt: Prompt,
    options: GenerateOptions,
    compute: (start: GenerationStart) => Promise<GenerationResult>,
  ): Promise<Completion> {
    const course = new InferenceCourse();
    const { prompts, replyMarks, contextSize } = this.#parts;
    const rendered = prompts.render(prompt);
    const tokens = await this.#tokens(rendered, options.signal);
    if (tokens.length >= contextSize) throw promptTooLargeFault(tokens.length, contextSize);
    const prefix = openedText(rendered.text, replyMarks);
    if (prefix !== '') options.onText?.(prefix);
    const {
      finishReason = 'aborted',
      text,
      choices,
    } = await compute({
      rendered,
      tokens,
      course,
      prefix,
      maxContextTokens: contextSize - tokens.length,
      mayReason: prompt.thinking === true,
      answerMark: answerMarkAfter(rendered.text, replyMarks),
    });
    text.end();
    if (tokens.length > 0) this.history.remember(rendered, tokens, text.exactPrefix());
    return {
      text: prefix + text.text,
      finishReason,
      ...course.report(tokens.length, text.count),
      ...(options.transcript && { transcript: this.#transcript(rendered, tokens, text.transcript) }),
      ...(choices && {
        choices: choices.map((each) => {
          const { start, end, probability } = closeChoice(each, text.text);
          return { start: start + prefix.length, end: end + prefix.length, probability };
        }),
      }),
    };
  }

  /** @param compute the logarithms of the probabilities of the answers; undefined after an abort. */
  async score(
    prompt: Prompt,
    answers: readonly string[],
    { signal, transcript }: ScoreOptions,
    compute: (start: ScoringStart) => Promise<readonly number[] | undefined>,
  ): Promise<AnswerScores> {
    const course = new InferenceCourse();
    const { prompts, replyMarks, contextSize } = this.#parts;
    const rendered = prompts.render(prompt);
    const tokens = await this.#tokens(rendered, signal);
    const { opening, closing } = answerFrame(rendered.text, replyMarks);
    const context = [...tokens, ...(await prompts.continuation(opening, true))];
    const end = await prompts.continuation(closing, true);
    const lead = opening === '' ? (this.#replyLead ??= replyLead(prompts)) : '';
    const answerTokens: Token[][] = [];
    for (const answer of answers) answerTokens.push([...(await prompts.continuation(lead + answer, false)), ...end]);
    const longest = Math.max(0, ...answerTokens.map(({ length }) => length));
    if (context.length + longest >= contextSize) throw promptTooLargeFault(tokens.length, contextSize, longest);
    const scores = await compute({ rendered, tokens, course, context, answers: answerTokens });
    if (tokens.length > 0) this.history.remember(rendered, tokens, nothingGenerated);
    return {
      scores: scores ?? [],
      finishReason: scores ? 'end' : 'aborted',
      ...course.report(tokens.length, 0),
      ...(transcript && { transcript: this.#transcript(rendered, tokens, '') }),
    };
  }

  /** The tokens of a prompt that do not depend on the text of its last message. */
  async stablePrefix(prompt: Prompt): Promise<Token[]> {
    const { prompts } = this.#parts;
    const last = prompt.messages.at(-1);
    const tokensWith = (text: string): Promise<Token[]> => {
      const messages = last ? [...prompt.messages.slice(0, -1), { ...last, text }] : [];
      return this.history.tokens(prompts.render({ ...prompt, messages }));
    };
    const [tokens, variant] = [await tokensWith('A'), await tokensWith('B')];
    const end = commonPrefixLength(tokens, variant);
    return end === tokens.length ? [] : tokens.slice(0, end);
  }

  /** The tokens of a prompt; from a server none when the signal is aborted, or the sequence closed, before they are there. */
  async #tokens(rendered: RenderedPrompt, signal: AbortSignal): Promise<Token[]> {
    const { isClosed } = this.#parts;
    if (!isClosed) return this.history.tokens(rendered);
    try {
      return await raceAbort(this.history.tokens(rendered), signal);
    } catch (error) {
      if (signal.aborted || isClosed()) return [];
      throw error;
    }
  }

  #transcript(rendered: RenderedPrompt, tokens: readonly Token[], text: string): Transcript {
    const { vocabulary } = this.#parts.prompts;
    const { bosToken } = vocabulary;
    const bos = bosToken !== undefined && tokens[0] === bosToken ? vocabulary.controlSpelling(bosToken) : '';
    return { prompt: promptPieces(rendered, bos), text };
  }
}

/** The course of an inference, for its report. */
class InferenceCourse {
  readonly #start = performance.now();
  #queuedMs = 0;
  #firstTokenMs = 0;
  /** Tokens that were in the KV cache already; undefined: nothing was evaluated yet. */
  reused: number | undefined;

  /** It has a slot, perhaps not for the first time. */
  readonly onSlot = (): void => void (this.#queuedMs ||= this.#elapsedMs);

  readonly onToken = (): void => void (this.#firstTokenMs ||= this.#elapsedMs);

  report(prompt: number, generated: number): Pick<Completion, 'tokens' | 'timings'> {
    const totalMs = this.#elapsedMs;
    return {
      tokens: { prompt, reused: Math.min(this.reused ?? 0, prompt), generated },
      timings: { queuedMs: this.#queuedMs || totalMs, firstTokenMs: this.#firstTokenMs, totalMs },
    };
  }

  get #elapsedMs(): number {
    return performance.now() - this.#start;
  }
}

/**
 * A mark at the end of a prompt, with which its template opens reasoning. It is part of the model's text: without it
 * the reasoning after it could not be recognised.
 */
function openedText(prompt: string, marks: ReplyMarks): string {
  const open = openedAtEnd(prompt, marks)?.open ?? '';
  return hasTag(open) || open === '' ? open : `${open}\n`;
}

/**
 * The control tokens that the chat template wrote, and the text between them.
 * @param bos the name of the BOS token that the prompt begins with, which the template may have written; "" = none.
 */
function promptPieces({ text, controlSpans }: RenderedPrompt, bos: string): readonly PromptPiece[] {
  const isWritten = bos === '' || (controlSpans[0]?.start === 0 && text.startsWith(bos));
  const pieces = splitAtSpans(text, controlSpans);
  return isWritten ? pieces : [{ text: bos, special: true }, ...pieces];
}

/** A prompt and the text that was generated after it. */
interface Snapshot extends RenderedPrompt {
  readonly tokens: readonly Token[];
  /** For each offset of `text` at which a later prompt can resume with a control string: the number of tokens before it. */
  readonly resumePoints: ReadonlyMap<number, number>;
}

/**
 * Token history of a sequence, for prefix reuse: tokenizes a prompt with the tokens that the model itself generated. A
 * model may generate a text as other tokens than the tokenizer would give for it. A prompt that repeats this text must
 * have the generated tokens, or everything after it would be evaluated again.
 */
class TokenHistory {
  readonly #prompts: PromptTokenizer;
  #snapshot: Snapshot | undefined;

  constructor(prompts: PromptTokenizer) {
    this.#prompts = prompts;
  }

  /**
   * The tokens of a prompt: remembered ones up to the last control string of the template before the first difference to
   * the remembered text, new ones from there on.
   */
  async tokens(prompt: RenderedPrompt): Promise<Token[]> {
    const snapshot = this.#snapshot;
    if (!snapshot) return this.#prompts.tokensYielding(prompt);
    const equalLength = equalPromptLength(snapshot, prompt);
    const resumeAt = prompt.controlSpans.findLast(
      ({ start }) => start > 0 && start <= equalLength && snapshot.resumePoints.has(start),
    );
    if (!resumeAt) return this.#prompts.tokensYielding(prompt);
    return [
      ...snapshot.tokens.slice(0, snapshot.resumePoints.get(resumeAt.start)),
      ...(await this.#prompts.tokensYielding(prompt, resumeAt.start)),
    ];
  }

  /** Remembers a prompt with its tokens, and what was generated after it. */
  remember(prompt: RenderedPrompt, tokens: readonly Token[], generated: GeneratedText): void {
    const resumePoints = this.#resumePoints(prompt, tokens);
    const text = prompt.text + generated.text;
    if (resumePoints.size > 0) resumePoints.set(text.length, tokens.length + generated.tokens.length);
    const controlOffsets = new Set(generated.controlOffsets);
    const plainOffsets = this.#prompts.unsafeOffsets(generated.text).filter((offset) => !controlOffsets.has(offset));
    const generatedOffsets = plainOffsets.map((offset) => prompt.text.length + offset);
    this.#snapshot = {
      text,
      maskedOffsets: [...prompt.maskedOffsets, ...generatedOffsets],
      controlSpans: prompt.controlSpans,
      tokens: [...tokens, ...generated.tokens],
      resumePoints,
    };
  }

  // Pairs the control spans with the control tokens; only a BOS token may have no span. Where the counts differ, the
  // tokenizer reads other control tokens than the text shows, so nothing is reused.
  #resumePoints(prompt: RenderedPrompt, tokens: readonly Token[]): Map<number, number> {
    const controlIndexes = tokens.flatMap((token, index) => (this.#prompts.vocabulary.isControl(token) ? [index] : []));
    const surplus = controlIndexes.length - prompt.controlSpans.length;
    if (prompt.controlSpans.length === 0) return new Map();
    if (surplus !== 0 && !(surplus === 1 && controlIndexes[0] === 0)) return new Map();
    return new Map(prompt.controlSpans.map(({ start }, index) => [start, controlIndexes[index + surplus] ?? 0]));
  }
}

/** The number of leading UTF-16 units that two prompts have in common, masks included. */
function equalPromptLength(a: RenderedPrompt, b: RenderedPrompt): number {
  const index = commonPrefixLength(a.maskedOffsets, b.maskedOffsets);
  const differingOffsets = [a.maskedOffsets[index] ?? Infinity, b.maskedOffsets[index] ?? Infinity];
  return Math.min(commonPrefixLength(a.text, b.text), ...differingOffsets);
}
