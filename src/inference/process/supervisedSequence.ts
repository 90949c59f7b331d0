import { settledWithin, track, untilAborted } from '../../base/abort.ts';
import { onAbort } from '../../base/events.ts';
import type {
  AnswerScores,
  Completion,
  GenerateOptions,
  ScoreOptions,
  Sequence,
  WarmUpOptions,
  WarmUpResult,
} from '../contract/engine.ts';
import { type RequestControl, type RequestShape, type RunningRequest, UnreceivedRequest } from './peer.ts';
import type { Prompt } from '../../chat/dialog.ts';
import type { CallGrammar } from '../../chat/grammar/rule.ts';
import type { EngineProcess } from './engineProcess.ts';
import type { PlainSchedule } from './messages.ts';
import type { InferenceSchedule } from '../contract/pace.ts';
import type { Supervisor } from './supervisor.ts';

interface OpenedSequence {
  readonly process: EngineProcess;
  grammar: CallGrammar | undefined;
}

/** A sequence in the engine process of its model. After a crash the next prompt fills a new one. */
export class SupervisedSequence implements Sequence {
  readonly label: string;
  /** In all its processes. */
  readonly #id: number;
  readonly #supervisor: Supervisor;
  readonly #onClose: (sequence: Sequence) => void;
  readonly #closing = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  /** In the process that has last been sent a prompt of it. */
  #opened: OpenedSequence | undefined;

  constructor(
    { id, label }: { readonly id: number; readonly label: string },
    supervisor: Supervisor,
    onClose: (sequence: Sequence) => void,
  ) {
    this.#id = id;
    this.label = label;
    this.#supervisor = supervisor;
    this.#onClose = onClose;
  }

  async generate(prompt: Prompt, options: GenerateOptions): Promise<Completion> {
    const { signal, backpressure, onText } = options;
    const start = performance.now();
    const pieces: string[] = [];
    let isOver = false;
    const wait = backpressure?.();
    if (wait) await untilAborted(wait, signal, this.#closing.signal, this.#supervisor.closing);
    const emit = (piece: string): void => {
      if (isOver) return;
      pieces.push(piece);
      onText?.(piece);
    };
    const completion = await this.#run(signal, async (opened) => {
      const delivery = deliverText({ signal, onText: emit, ...(backpressure && { backpressure }) });
      const params = this.#params(opened, prompt, options);
      try {
        const result = await runScheduled(opened.process, options, (schedule) => {
          const request = opened.process.request('generate', { ...params, schedule }, delivery.push);
          delivery.control(request.control);
          return request;
        });
        await delivery.delivered();
        return result;
      } catch (error) {
        delivery.flush();
        throw error;
      }
    });
    isOver = true;
    return completion ?? { text: pieces.join(''), ...abortedResult(performance.now() - start) };
  }

  async score(prompt: Prompt, answers: readonly string[], options: ScoreOptions): Promise<AnswerScores> {
    const { signal, transcript = false } = options;
    const start = performance.now();
    const scores = await this.#run(signal, ({ process }) =>
      runScheduled(process, options, (schedule) =>
        process.request('score', { sequence: this.#id, prompt, schedule, answers, transcript }),
      ),
    );
    return scores ?? { scores: [], ...abortedResult(performance.now() - start) };
  }

  async prefill(prompt: Prompt, signal: AbortSignal, options: WarmUpOptions = {}): Promise<WarmUpResult> {
    const result = await this.#run(signal, ({ process }) =>
      runScheduled(process, { ...options, signal }, (schedule) =>
        process.request('prefill', { sequence: this.#id, prompt, schedule, keep: options.keep === true }),
      ),
    );
    return result ?? { tokens: 0, kept: 'stopped' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    const closed = this.#opened?.process.request('closeSequence', { sequence: this.#id }).result;
    if (closed) await settledWithin(maxAbortMs, closed);
    await Promise.allSettled(this.#running);
    this.#onClose(this);
  }

  get #isClosing(): boolean {
    return this.#closing.signal.aborted || this.#supervisor.closing.aborted;
  }

  #params(opened: OpenedSequence, prompt: Prompt, options: GenerateOptions) {
    const { sampling, controlTokens = false, maxThinkingTokens, transcript = false, grammar } = options;
    const isKnown = grammar !== undefined && grammar === opened.grammar;
    opened.grammar = grammar;
    const sentGrammar = isKnown ? ('previous' as const) : grammar;
    const request = { sequence: this.#id, prompt, sampling, controlTokens, maxThinkingTokens, transcript };
    return { ...request, choices: options.choices === true, grammar: sentGrammar };
  }

  /** Runs work in the process of the model; undefined: aborted before a process received it, or by a disposal. */
  async #run<T>(signal: AbortSignal, work: (opened: OpenedSequence) => Promise<T>): Promise<T | undefined> {
    if (signal.aborted || this.#isClosing) return undefined;
    let isWaiting = true;
    const running = this.#supervisor.run(async (process) => {
      if (signal.aborted || this.#isClosing) return undefined;
      isWaiting = false;
      if (this.#opened?.process !== process) this.#opened = { process, grammar: undefined };
      try {
        return await work(this.#opened);
      } catch (error) {
        if (!(error instanceof UnreceivedRequest)) throw error;
        // It would run again in the next process, which is not loaded yet.
        if (signal.aborted || this.#isClosing) return undefined;
        isWaiting = true;
        throw error;
      }
    });
    let unsubscribe = (): void => undefined;
    const abortedWhileWaiting = new Promise<undefined>((resolve) => {
      // Work that a process has been sent ends by itself after an abort.
      const end = (): unknown => settledWithin(isWaiting ? 0 : maxAbortMs, running).then(() => resolve(undefined));
      unsubscribe = onAbort(signal)(end);
    });
    try {
      return await track(this.#running, Promise.race([running, abortedWhileWaiting]));
    } catch (error) {
      if (this.#isClosing) return undefined;
      throw error;
    } finally {
      unsubscribe();
    }
  }
}

/** Sends a request with a schedule, which ends with it. */
async function runScheduled<Shape extends RequestShape>(
  { paces }: EngineProcess,
  options: InferenceSchedule & { readonly signal: AbortSignal },
  send: (schedule: PlainSchedule) => RunningRequest<Shape>,
): Promise<Shape['result']> {
  const sent = paces.begin(options);
  const request = send(sent.plain);
  const unsubscribe = onAbort(options.signal)(() => {
    request.control('abort');
    // From now on an answer is expected, also while the session is paused.
    sent.end();
  });
  try {
    return await request.result;
  } finally {
    sent.end();
    unsubscribe();
  }
}

/** A process that is stopped, or hangs, is not waited for any longer after an abort, in milliseconds. */
export const maxAbortMs = 5000;

const abortedResult = (ms: number) => ({
  finishReason: 'aborted' as const,
  tokens: { prompt: 0, reused: 0, generated: 0 },
  timings: { queuedMs: ms, firstTokenMs: 0, totalMs: ms },
});

/** Pauses a generation elsewhere and holds back its pieces, none after an abort. An `onText` that throws aborts it. */
export function deliverText({
  signal,
  backpressure,
  onText,
}: Pick<GenerateOptions, 'signal' | 'backpressure'> & { readonly onText: (piece: string) => void }) {
  const held: string[] = [];
  let send: (control: RequestControl) => void = () => undefined;
  let pause: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;

  const deliver = (piece: string): void => {
    if (failure) return;
    try {
      onText(piece);
    } catch (error) {
      failure = { error };
      send('abort');
    }
  };
  const rethrow = (): void => {
    if (failure) throw failure.error;
  };
  const flush = (): void => held.splice(0).forEach(deliver);
  const holdBack = async (first: Promise<void>): Promise<void> => {
    send('pause');
    let wait: Promise<void> | undefined = first;
    do {
      if (wait) await untilAborted(wait, signal);
      const next = held.shift();
      if (next === undefined) break;
      deliver(next);
      wait = backpressure?.();
    } while (!signal.aborted);
    pause = undefined;
    flush();
    send('resume');
  };

  return {
    /** A piece has arrived. Does not throw. */
    push(piece: string): void {
      if (pause) return void held.push(piece);
      deliver(piece);
      const wait = failure ? undefined : backpressure?.();
      if (wait) pause = holdBack(wait).catch((error: unknown) => void (failure ??= { error }));
    },
    /** Sets how the generation is paused, resumed and aborted. */
    control: (sender: (control: RequestControl) => void): void => void (send = sender),
    /** Resolves when all pieces are delivered. @throws what `onText` has thrown. */
    async delivered(): Promise<void> {
      await pause;
      rethrow();
    },
    /** Delivers what has arrived, without backpressure. @throws what `onText` has thrown. */
    flush(): void {
      flush();
      rethrow();
    },
  };
}
