import type { Token } from 'node-llama-cpp';
import type { Message, Prompt } from '../../dialog.ts';
import { Fault } from '../../fault.ts';
import type { Completion, GenerateOptions, Sequence, Stopped } from '../engine.ts';
import { pause } from '../../abort.ts';
import { promptTooLarge } from '../promptTooLarge.ts';
import type { Beside } from './batching/deferredQueue.ts';
import { BoundPen } from './sampling/grammarSampler.ts';
import { reasoningOpenedBy } from '../../tools/reasoning/reasoningFilter.ts';
import { align, fill, held } from './kvCache/prefixReuse.ts';
import type { Grammars } from './sampling/grammarCache.ts';
import { FreePen, type Pen } from './sampling/sampler.ts';
import type { Seat, Seats } from './kvCache/slots.ts';
import type { States } from './kvCache/stateSwap.ts';
import type { PromptTemplate } from './prompt/promptRenderer.ts';
import { TextStream } from './tokenizer/streamingDetokenizer.ts';
import { Transcript } from './prompt/tokenHistory.ts';
import type { Vocabulary } from './tokenizer/tokenizer.ts';
import { write } from './sampling/decodeLoop.ts';

/** What a sequence has of its model. */
export interface SequenceParts {
  readonly seats: Seats;
  /** Where what a seat held goes when somebody else needs it; undefined: nowhere. */
  readonly states: States | undefined;
  readonly beside: Beside;
  readonly template: PromptTemplate;
  readonly vocabulary: Vocabulary;
  readonly grammars: Grammars;
  /** Tokens. */
  readonly contextSize: number;
  /** Tokens of a prompt that are evaluated between two looks at the signal. */
  readonly chunk: number;
  readonly onClose: (sequence: Sequence) => void;
}

/** A sequence of llama.cpp: it has a seat while it works, and evaluates nothing that the seat still holds. */
export class LlamaSequence implements Sequence {
  readonly #parts: SequenceParts;
  readonly #transcript: Transcript;
  readonly #work = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(parts: SequenceParts) {
    this.#parts = parts;
    this.#transcript = new Transcript(parts.template, parts.vocabulary);
  }

  async generate(prompt: Prompt, options: GenerateOptions): Promise<Completion> {
    const since = stopwatch();
    const rendered = this.#parts.template.render(prompt);
    const tokens = this.#transcript.tokens(rendered);
    if (tokens.length >= this.#parts.contextSize) throw promptTooLarge(tokens.length, this.#parts.contextSize);
    // What a template has begun on the model's behalf belongs to the model's text, or nobody could tell it apart.
    const opened = options.grammar?.kind === 'whole' ? '' : reasoningOpenedBy(rendered.text);
    if (opened !== '') options.onText?.(opened);
    const stream = new TextStream(this.#parts.vocabulary, {
      before: tokens,
      stop: options.sampling.stop,
      controlTokens: options.controlTokens ?? false,
      onText: options.onText ?? (() => {}),
    });
    const timings = { waited: 0, firstToken: 0 };
    const pen = this.#pen(options, { stream, opened, room: this.#parts.contextSize - tokens.length });
    const context = [...tokens, ...pen.open()];
    const { signal, pace } = options;
    let reused: number | undefined;
    let stopped: Stopped | 'paused' | undefined;
    do {
      const wait = pace?.();
      if (wait) await pause(wait, signal, this.#closing.signal);
      // While a client does not keep up, others have the seat.
      stopped = await this.#seated(context, signal, async (seat) => {
        timings.waited ||= since();
        const kept = await this.#read(seat, context, signal);
        reused ??= Math.min(kept, tokens.length);
        return this.#write(seat, context, pen, options, () => (timings.firstToken ||= since()));
      });
    } while (stopped === 'paused');
    stream.end();
    this.#transcript.remember(rendered, tokens, stream.written());
    return {
      text: opened + stream.text,
      stopped: stopped ?? 'aborted',
      tokens: { prompt: tokens.length, reused: reused ?? 0, generated: stream.tokens.length },
      timings: { ...timings, waited: timings.waited || since(), total: since() },
    };
  }

  async warm(prompt: Prompt, signal: AbortSignal): Promise<void> {
    const tokens = this.#head(prompt);
    if (tokens.length >= this.#parts.contextSize) return;
    const { chunk } = this.#parts;
    await this.#seated(tokens, signal, (seat) =>
      this.#engine(seat, async () => {
        if (held(seat.cache, tokens) === tokens.length) return;
        await align(seat.cache, tokens);
        await fill(seat.cache, tokens, { end: tokens.length, chunk, halted: this.#halted(signal) });
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#parts.seats.leave(this);
    await Promise.allSettled([...this.#work, this.#parts.states?.forget(this)]);
    this.#parts.onClose(this);
  }

  /** Works with a seat; gives undefined when the wait for one was ended. */
  #seated<T>(prompt: Token[], signal: AbortSignal, work: (seat: Seat) => Promise<T>): Promise<T | undefined> {
    const working = this.#withSeat(prompt, signal, work);
    this.#work.add(working);
    return working.finally(() => this.#work.delete(working));
  }

  async #withSeat<T>(prompt: Token[], signal: AbortSignal, work: (seat: Seat) => Promise<T>): Promise<T | undefined> {
    const { seats } = this.#parts;
    const seat = this.#closing.signal.aborted ? undefined : await seats.take(this, prompt, signal);
    if (!seat) return undefined;
    try {
      await this.#settle(seat, prompt);
      return await work(seat);
    } finally {
      seats.release(seat);
    }
  }

  /** Puts aside what a seat holds of somebody else, and brings back what was put aside of this sequence. */
  async #settle(seat: Seat, prompt: Token[]): Promise<void> {
    const { states, seats } = this.#parts;
    if (seat.displaced) await states?.save(seat.displaced, seat.cache);
    // A state that cannot be brought back is evaluated anew.
    await states?.restore(this, seat.cache, prompt).catch(() => seats.renew(seat));
  }

  /** Brings the cache to the point where only the last chunk of the prompt is missing; gives how much was there. */
  async #read(seat: Seat, tokens: Token[], signal: AbortSignal): Promise<number> {
    const { chunk } = this.#parts;
    return this.#engine(seat, async () => {
      const reused = await align(seat.cache, tokens.slice(0, -1));
      const whole = Math.floor((tokens.length - 1 - reused) / chunk);
      await fill(seat.cache, tokens, { end: reused + whole * chunk, chunk, halted: this.#halted(signal) });
      return reused;
    });
  }

  #write(
    seat: Seat,
    context: Token[],
    pen: Pen,
    { sampling, signal, pace }: GenerateOptions,
    onToken: () => void,
  ): Promise<Stopped | 'paused'> {
    return write({
      cache: seat.cache,
      context,
      pen,
      sampling,
      beside: this.#parts.beside,
      halted: this.#halted(signal),
      step: (step) => this.#engine(seat, step),
      onToken,
      ...(pace && { pace }),
    });
  }

  #pen(
    { grammar, sampling }: GenerateOptions,
    text: { readonly stream: TextStream; readonly opened: string; readonly room: number },
  ): Pen {
    const { vocabulary, grammars } = this.#parts;
    const maxTokens = sampling.max_tokens;
    if (!grammar) return new FreePen(text.stream, Math.min(maxTokens, text.room));
    return new BoundPen({ grammar, vocabulary, grammars, maxTokens, ...text });
  }

  /** Runs a step of the engine; when it fails, what the seat holds is unknown, so it is emptied. */
  async #engine<T>(seat: Seat, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      await Promise.allSettled([this.#parts.seats.renew(seat)]);
      const why = error instanceof Error ? error.message : String(error);
      throw new Fault('INFERENCE_FAILED', `the engine failed to evaluate tokens: ${why}`, { cause: error });
    }
  }

  /** The tokens of a prompt that are the same whatever its last message says. */
  #head(prompt: Prompt): Token[] {
    const [one, other] = ['A', 'B'].map((text) => {
      const last = prompt.messages.at(-1);
      const messages: readonly Message[] = last ? [...prompt.messages.slice(0, -1), { ...last, text }] : [];
      return this.#parts.template.tokens(this.#parts.template.render({ ...prompt, messages }));
    });
    if (!one || !other) return [];
    const end = one.findIndex((token, index) => token !== other[index]);
    return end < 0 ? [] : one.slice(0, end);
  }

  #halted(signal: AbortSignal): () => boolean {
    return () => signal.aborted || this.#closing.signal.aborted;
  }
}

function stopwatch(): () => number {
  const start = performance.now();
  return () => performance.now() - start;
}
