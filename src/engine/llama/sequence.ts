import type { Token } from 'node-llama-cpp';
import type { Message, Prompt } from '../../dialog.ts';
import { Fault, describeError } from '../../fault.ts';
import type { Completion, GenerateOptions, Sequence, FinishReason } from '../engine.ts';
import { untilAborted } from '../../abort.ts';
import { commonPrefixLength } from '../../commonPrefix.ts';
import { promptTooLargeFault } from '../promptTooLarge.ts';
import type { DeferredQueue } from './batching/deferredQueue.ts';
import { createSampler } from './sampling/createSampler.ts';
import { answerMarkAfter, hasTag, openedAtEnd, type ReplyMarks } from '../../tools/reasoning/replyMarks.ts';
import { reusePrefix, prefill, cachedPrefixLength } from './kvCache/prefixReuse.ts';
import type { GrammarCache } from './sampling/grammarCache.ts';
import type { Sampler } from './sampling/sampler.ts';
import type { Slot, SlotPool } from './kvCache/slots.ts';
import type { StateSwap } from './kvCache/stateSwap.ts';
import type { PromptRenderer } from './prompt/promptRenderer.ts';
import { StreamingDetokenizer } from './tokenizer/streamingDetokenizer.ts';
import { TokenHistory } from './prompt/tokenHistory.ts';
import { createTranscript } from './prompt/transcript.ts';
import type { Tokenizer } from './tokenizer/tokenizer.ts';
import { decode } from './sampling/decodeLoop.ts';

/** What a sequence uses of its model. */
export interface SequenceParts {
  readonly label: string;
  readonly slots: SlotPool;
  /** Swap for the KV states of evicted sequences; undefined: they are prefilled again. */
  readonly stateSwap: StateSwap | undefined;
  readonly deferredQueue: DeferredQueue;
  readonly renderer: PromptRenderer;
  readonly tokenizer: Tokenizer;
  readonly grammarCache: GrammarCache;
  readonly replyMarks: ReplyMarks;
  /** Tokens. */
  readonly contextSize: number;
  /** Prompt tokens that are evaluated between two checks of the signal. */
  readonly prefillChunkTokens: number;
  readonly onClose: (sequence: Sequence) => void;
}

/**
 * A sequence of llama.cpp. Each generation acquires a slot, swaps the KV state in, reuses the prompt's cached prefix,
 * prefills the rest in chunks, decodes, and releases the slot. While the client does not keep up (backpressure), the
 * generation pauses without a slot.
 */
export class LlamaSequence implements Sequence {
  readonly label: string;
  readonly #parts: SequenceParts;
  readonly #history: TokenHistory;
  readonly #runningWork = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(parts: SequenceParts) {
    this.label = parts.label;
    this.#parts = parts;
    this.#history = new TokenHistory(parts.renderer, parts.tokenizer);
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
    const { signal, backpressure } = options;
    let reused: number | undefined;
    let finishReason: FinishReason | 'paused' | undefined;
    do {
      const wait = backpressure?.();
      if (wait) await untilAborted(wait, signal, this.#closing.signal);
      // Paused by backpressure, a generation has no slot: others can use it.
      finishReason = await this.#withSlot(context, signal, async (slot) => {
        timings.queuedMs ||= elapsedMs();
        const reusedTokens = await this.#prefill(slot, context, signal);
        reused ??= Math.min(reusedTokens, tokens.length);
        return this.#decode(slot, context, sampler, options, () => (timings.firstTokenMs ||= elapsedMs()));
      });
    } while (finishReason === 'paused');
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

  async prefill(prompt: Prompt, signal: AbortSignal): Promise<void> {
    const tokens = await this.#stablePrefix(prompt);
    if (tokens.length >= this.#parts.contextSize) return;
    const { prefillChunkTokens } = this.#parts;
    await this.#withSlot(tokens, signal, (slot) =>
      this.#runOrReset(slot, async () => {
        if (cachedPrefixLength(slot.cache, tokens) === tokens.length) return;
        await reusePrefix(slot.cache, tokens);
        await prefill(slot.cache, tokens, {
          end: tokens.length,
          chunkTokens: prefillChunkTokens,
          shouldStop: this.#shouldStop(signal),
        });
      }),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    this.#parts.slots.forgetOwner(this);
    await Promise.allSettled([...this.#runningWork, this.#parts.stateSwap?.discard(this)]);
    this.#parts.onClose(this);
  }

  /** Runs work with a slot for the prompt; undefined when the wait for one was aborted. */
  #withSlot<T>(prompt: Token[], signal: AbortSignal, work: (slot: Slot) => Promise<T>): Promise<T | undefined> {
    const running = this.#runWithSlot(prompt, signal, work);
    this.#runningWork.add(running);
    return running.finally(() => this.#runningWork.delete(running));
  }

  async #runWithSlot<T>(
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

  /** Swaps out the KV state of the slot's evicted owner, and swaps in this sequence's own. */
  async #swap(slot: Slot, prompt: Token[]): Promise<void> {
    const { stateSwap, slots } = this.#parts;
    if (slot.evicted) await stateSwap?.swapOut(slot.evicted, slot.cache);
    // If the state cannot be read, its tokens are prefilled again.
    await stateSwap?.swapIn(this, slot.cache, prompt).catch(() => slots.reset(slot));
  }

  /**
   * Reuses the cached prefix and prefills whole chunks; the remainder is evaluated with the first sampled token.
   * @returns the number of reused tokens.
   */
  async #prefill(slot: Slot, tokens: Token[], signal: AbortSignal): Promise<number> {
    const { prefillChunkTokens } = this.#parts;
    return this.#runOrReset(slot, async () => {
      const reused = await reusePrefix(slot.cache, tokens.slice(0, -1));
      const wholeChunks = Math.floor((tokens.length - 1 - reused) / prefillChunkTokens);
      await prefill(slot.cache, tokens, {
        end: reused + wholeChunks * prefillChunkTokens,
        chunkTokens: prefillChunkTokens,
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
      isEnd: (token) => this.#parts.tokenizer.endsGeneration(token),
      step: (step) => this.#runOrReset(slot, step),
      onToken,
      ...(backpressure && { backpressure }),
    });
  }

  /**
   * A mark at the end of a prompt, with which its template opens reasoning. It is part of the model's text: without it
   * the reasoning after it could not be recognised.
   */
  #openedText(prompt: string): string {
    const open = openedAtEnd(prompt, this.#parts.replyMarks)?.open ?? '';
    return hasTag(open) || open === '' ? open : `${open}\n`;
  }

  /** Runs a step of llama.cpp. When it fails, the contents of the slot are unknown, so the slot is reset. */
  async #runOrReset<T>(slot: Slot, step: () => Promise<T>): Promise<T> {
    try {
      return await step();
    } catch (error) {
      await Promise.allSettled([this.#parts.slots.reset(slot)]);
      const why = describeError(error);
      throw new Fault('INFERENCE_FAILED', `the engine failed to evaluate tokens: ${why}`, { cause: error });
    }
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

  #shouldStop(signal: AbortSignal): () => boolean {
    return () => signal.aborted || this.#closing.signal.aborted;
  }
}

function stopwatch(): () => number {
  const start = performance.now();
  return () => performance.now() - start;
}
