import { raceAbort, untilAborted } from '../../abort.ts';
import type { Prompt } from '../../dialog.ts';
import type { CallGrammar } from '../../tools/grammar/grammar.ts';
import type { Completion, GenerateOptions, Sequence } from '../engine.ts';
import { deliverText } from './deliverText.ts';
import type { ModelProcess } from './modelProcess.ts';
import type { Supervisor } from './supervisor.ts';

/** A sequence in the engine process of its model. After a crash the next prompt fills a new one. */
export class SupervisedSequence implements Sequence {
  readonly #id: number;
  readonly #supervisor: Supervisor;
  readonly #onClose: (sequence: Sequence) => void;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  /** The process that knows this sequence, and the grammar that it has last been sent. */
  #opened: { readonly model: ModelProcess; grammar: CallGrammar | undefined } | undefined;

  constructor(id: number, supervisor: Supervisor, onClose: (sequence: Sequence) => void) {
    this.#id = id;
    this.#supervisor = supervisor;
    this.#onClose = onClose;
  }

  generate(prompt: Prompt, options: GenerateOptions): Promise<Completion> {
    return this.#track(this.#generate(prompt, options));
  }

  prefill(prompt: Prompt, signal: AbortSignal): Promise<void> {
    return this.#track(this.#prefill(prompt, signal));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#opened?.model.request('closeSequence', { sequence: this.#id }).result.catch(() => undefined);
    await Promise.allSettled(this.#running);
    this.#onClose(this);
  }

  get #isClosing(): boolean {
    return this.#closing.signal.aborted || this.#supervisor.closing.aborted;
  }

  async #generate(prompt: Prompt, options: GenerateOptions): Promise<Completion> {
    const { signal, backpressure, onText } = options;
    const start = performance.now();
    const pieces: string[] = [];
    const aborted = (): Completion => abortedCompletion(pieces.join(''), performance.now() - start);
    const wait = backpressure?.();
    if (wait) await untilAborted(wait, signal, this.#closing.signal, this.#supervisor.closing);
    const opened = await this.#open(signal);
    if (!opened) return aborted();
    const { sampling, controlTokens = false, grammar } = options;
    const sentGrammar = grammar && (grammar === opened.grammar ? ('previous' as const) : grammar);
    opened.grammar = grammar;
    const emit = (piece: string): void => {
      pieces.push(piece);
      onText?.(piece);
    };
    const delivery = deliverText({ signal, onText: emit, ...(backpressure && { backpressure }) });
    const params = { sequence: this.#id, prompt, sampling, controlTokens, grammar: sentGrammar };
    const request = opened.model.request('generate', params, (piece) => delivery.push(piece));
    delivery.control((control) => request.control(control));
    const abort = (): void => request.control('abort');
    signal.addEventListener('abort', abort);
    try {
      const completion = await request.result;
      await delivery.delivered();
      return completion;
    } catch (error) {
      delivery.flush();
      if (this.#isClosing) return aborted();
      throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  async #prefill(prompt: Prompt, signal: AbortSignal): Promise<void> {
    const opened = await this.#open(signal);
    if (!opened) return;
    const request = opened.model.request('prefill', { sequence: this.#id, prompt });
    const abort = (): void => request.control('abort');
    signal.addEventListener('abort', abort);
    try {
      await request.result;
    } catch (error) {
      if (!this.#isClosing) throw error;
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** The process of the model, once it is ready; undefined when the wait for it was aborted. */
  async #open(
    signal: AbortSignal,
  ): Promise<{ readonly model: ModelProcess; grammar: CallGrammar | undefined } | undefined> {
    if (signal.aborted || this.#isClosing) return undefined;
    try {
      const model = await raceAbort(this.#supervisor.ready(), signal);
      if (this.#opened?.model !== model) this.#opened = { model, grammar: undefined };
      return signal.aborted || this.#isClosing ? undefined : this.#opened;
    } catch (error) {
      if (signal.aborted || this.#isClosing) return undefined;
      throw error;
    }
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work);
    return work.finally(() => this.#running.delete(work));
  }
}

const abortedCompletion = (text: string, ms: number): Completion => ({
  text,
  finishReason: 'aborted',
  tokens: { prompt: 0, reused: 0, generated: 0 },
  timings: { queuedMs: ms, firstTokenMs: 0, totalMs: ms },
});
