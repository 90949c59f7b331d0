import type { Token } from 'node-llama-cpp';
import type { Message, Prompt } from '../../dialog.ts';
import { Fault, describeError } from '../../fault.ts';
import type { Completion, GenerateOptions, Sequence, FinishReason } from '../engine.ts';
import { untilAborted } from '../../abort.ts';
import { promptTooLargeFault } from '../promptTooLarge.ts';
import type { DeferredQueue } from './batching/deferredQueue.ts';
import { GrammarSampler } from './sampling/grammarSampler.ts';
import { openReasoningTag } from '../../tools/reasoning/reasoningFilter.ts';
import { reusePrefix, prefill, cachedPrefixLength } from './kvCache/prefixReuse.ts';
import type { GrammarCache } from './sampling/grammarCache.ts';
import { FreeSampler, type Sampler } from './sampling/sampler.ts';
import type { Slot, SlotPool } from './kvCache/slots.ts';
import type { StateSwap } from './kvCache/stateSwap.ts';
import type { PromptRenderer } from './prompt/promptRenderer.ts';
import { StreamingDetokenizer } from './tokenizer/streamingDetokenizer.ts';
import { TokenHistory } from './prompt/tokenHistory.ts';
import type { Tokenizer } from './tokenizer/tokenizer.ts';
import { decode } from './sampling/decodeLoop.ts';

/** What a sequence has of its model. */
export interface SequenceParts {
  readonly slots: SlotPool;
  /** Where what a slot held goes when somebody else needs it; undefined: nowhere. */
  readonly stateSwap: StateSwap | undefined;
  readonly deferredQueue: DeferredQueue;
  readonly renderer: PromptRenderer;
  readonly tokenizer: Tokenizer;
  readonly grammarCache: GrammarCache;
  /** Tokens. */
  readonly contextSize: number;
  /** Tokens of a prompt that are evaluated between two looks at the signal. */
  readonly prefillChunkTokens: number;
  readonly onClose: (sequence: Sequence) => void;
}

/** A sequence of llama.cpp: it has a slot while it works, and evaluates nothing that the slot still holds. */
export class LlamaSequence implements Sequence {
  readonly #parts: SequenceParts;
  readonly #history: TokenHistory;
  readonly #work = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(parts: SequenceParts) {
    this.#parts = parts;
    this.#history = new TokenHistory(parts.renderer, parts.tokenizer);
  }

  async generate(prompt: Prompt, options: GenerateOptions): Promise<Completion> {
    const since = stopwatch();
    const rendered = this.#parts.renderer.render(prompt);
    const tokens = this.#history.tokens(rendered);
    if (tokens.length >= this.#parts.contextSize) throw promptTooLargeFault(tokens.length, this.#parts.contextSize);
    // What a template has begun on the model's behalf belongs to the model's text, or nobody could tell it apart.
    const prefix = options.grammar?.kind === 'full' ? '' : openReasoningTag(rendered.text);
    if (prefix !== '') options.onText?.(prefix);
    const stream = new StreamingDetokenizer(this.#parts.tokenizer, {
      precedingTokens: tokens,
      stopStrings: options.sampling.stop,
      controlTokens: options.controlTokens ?? false,
      onText: options.onText ?? (() => {}),
    });
    const timings = { queuedMs: 0, firstTokenMs: 0 };
    const sampler = this.#sampler(options, {
      stream,
      prefix,
      maxContextTokens: this.#parts.contextSize - tokens.length,
    });
    const context = [...tokens, ...sampler.begin()];
    const { signal, backpressure } = options;
    let reused: number | undefined;
    let stopped: FinishReason | 'paused' | undefined;
    do {
      const wait = backpressure?.();
      if (wait) await untilAborted(wait, signal, this.#closing.signal);
      // While a client does not keep up, others have the slot.
      stopped = await this.#withSlot(context, signal, async (slot) => {
        timings.queuedMs ||= since();
        const kept = await this.#prefill(slot, context, signal);
        reused ??= Math.min(kept, tokens.length);
        return this.#decode(slot, context, sampler, options, () => (timings.firstTokenMs ||= since()));
      });
    } while (stopped === 'paused');
    stream.end();
    this.#history.remember(rendered, tokens, stream.exactPrefix());
    return {
      text: prefix + stream.text,
      stopped: stopped ?? 'aborted',
      tokens: { prompt: tokens.length, reused: reused ?? 0, generated: stream.tokens.length },
      timings: { ...timings, queuedMs: timings.queuedMs || since(), totalMs: since() },
    };
  }

  async prefill(prompt: Prompt, signal: AbortSignal): Promise<void> {
    const tokens = this.#stablePrefix(prompt);
    if (tokens.length >= this.#parts.contextSize) return;
    const { prefillChunkTokens } = this.#parts;
    await this.#withSlot(tokens, signal, (slot) =>
      this.#runOrReset(slot, async () => {
        if (cachedPrefixLength(slot.cache, tokens) === tokens.length) return;
        await reusePrefix(slot.cache, tokens);
        await prefill(slot.cache, tokens, {
          end: tokens.length,
          chunk: prefillChunkTokens,
          shouldStop: this.#shouldStop(signal),
        });
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#parts.slots.forgetOwner(this);
    await Promise.allSettled([...this.#work, this.#parts.stateSwap?.discard(this)]);
    this.#parts.onClose(this);
  }

  /** Works with a slot; gives undefined when the wait for one was ended. */
  #withSlot<T>(prompt: Token[], signal: AbortSignal, work: (slot: Slot) => Promise<T>): Promise<T | undefined> {
    const working = this.#acquireSlot(prompt, signal, work);
    this.#work.add(working);
    return working.finally(() => this.#work.delete(working));
  }

  async #acquireSlot<T>(
    prompt: Token[],
    signal: AbortSignal,
    work: (slot: Slot) => Promise<T>,
  ): Promise<T | undefined> {
    const { slots } = this.#parts;
    const slot = this.#closing.signal.aborted ? undefined : await slots.acquire(this, prompt, signal);
    if (!slot) return undefined;
    try {
      await this.#swap(slot, prompt);
      return await work(slot);
    } finally {
      slots.release(slot);
    }
  }

  /** Puts aside what a slot holds of somebody else, and brings back what was put aside of this sequence. */
  async #swap(slot: Slot, prompt: Token[]): Promise<void> {
    const { stateSwap, slots } = this.#parts;
    if (slot.evicted) await stateSwap?.swapOut(slot.evicted, slot.cache);
    // A state that cannot be brought back is evaluated anew.
    await stateSwap?.swapIn(this, slot.cache, prompt).catch(() => slots.reset(slot));
  }

  /** Brings the cache to the point where only the last chunk of the prompt is missing; gives how much was there. */
  async #prefill(slot: Slot, tokens: Token[], signal: AbortSignal): Promise<number> {
    const { prefillChunkTokens } = this.#parts;
    return this.#runOrReset(slot, async () => {
      const reused = await reusePrefix(slot.cache, tokens.slice(0, -1));
      const whole = Math.floor((tokens.length - 1 - reused) / prefillChunkTokens);
      await prefill(slot.cache, tokens, {
        end: reused + whole * prefillChunkTokens,
        chunk: prefillChunkTokens,
        shouldStop: this.#shouldStop(signal),
      });
      return reused;
    });
  }

  #decode(
    slot: Slot,
    context: Token[],
    sampler: Sampler,
    { sampling, signal, backpressure }: GenerateOptions,
    onToken: () => void,
  ): Promise<FinishReason | 'paused'> {
    return decode({
      cache: slot.cache,
      context,
      sampler,
      sampling,
      deferredQueue: this.#parts.deferredQueue,
      shouldStop: this.#shouldStop(signal),
      step: (step) => this.#runOrReset(slot, step),
      onToken,
      ...(backpressure && { backpressure }),
    });
  }

  #sampler(
    { grammar, sampling }: GenerateOptions,
    text: { readonly stream: StreamingDetokenizer; readonly prefix: string; readonly maxContextTokens: number },
  ): Sampler {
    const { tokenizer, grammarCache } = this.#parts;
    const maxTokens = sampling.max_tokens;
    if (!grammar) return new FreeSampler(text.stream, Math.min(maxTokens, text.maxContextTokens));
    return new GrammarSampler({ grammar, tokenizer, grammarCache, maxTokens, ...text });
  }

  /** Runs a step of the engine; when it fails, what the slot holds is unknown, so it is emptied. */
  async #runOrReset<T>(slot: Slot, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      await Promise.allSettled([this.#parts.slots.reset(slot)]);
      const why = describeError(error);
      throw new Fault('INFERENCE_FAILED', `the engine failed to evaluate tokens: ${why}`, { cause: error });
    }
  }

  /** The tokens of a prompt that are the same whatever its last message says. */
  #stablePrefix(prompt: Prompt): Token[] {
    const [one, other] = ['A', 'B'].map((text) => {
      const last = prompt.messages.at(-1);
      const messages: readonly Message[] = last ? [...prompt.messages.slice(0, -1), { ...last, text }] : [];
      return this.#parts.renderer.tokens(this.#parts.renderer.render({ ...prompt, messages }));
    });
    if (!one || !other) return [];
    const end = one.findIndex((token, index) => token !== other[index]);
    return end < 0 ? [] : one.slice(0, end);
  }

  #shouldStop(signal: AbortSignal): () => boolean {
    return () => signal.aborted || this.#closing.signal.aborted;
  }
}

function stopwatch(): () => number {
  const start = performance.now();
  return () => performance.now() - start;
}
