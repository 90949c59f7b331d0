import { toTextMessages, type Message, type Prompt, type ToolBlock } from '../../dialog.ts';
import { Fault } from '../../fault.ts';
import { promptTooLargeFault } from '../promptTooLarge.ts';
import { callsInTags } from '../../tools/native/knownLayouts.ts';
import { noDialect, type ToolDialect } from '../../tools/native/toolDialect.ts';
import type {
  Completion,
  Engine,
  GenerateOptions,
  LoadOptions,
  Model,
  ModelStats,
  Sequence,
  SequenceOptions,
} from '../engine.ts';
import { defaultReplyMarks, type ReplyMarks } from '../../tools/reasoning/replyMarks.ts';
import { findReply, scriptedRequest, type MockScript, type ScriptedReply } from './script.ts';
import { mockOverhead, commonPrefixTokens, countMessages, countText, mockPieces } from './tokens.ts';
import { generateReply } from './generate.ts';

/** A graph whose nodes name `native` can be checked and tested without a model: calls are then written as in chatml. */
const mockDialect: ToolDialect = { ...noDialect('the mock engine has no chat template'), layout: callsInTags };

export { readMockScript } from './script.ts';

export interface MockOptions {
  readonly script?: MockScript;
  /** Context size, in tokens, for loads that give none. Default 8192. */
  readonly contextSize?: number;
  /** The marks of reasoning and answer in the scripted replies. Default: `<think>` and `[THINK]`. */
  readonly replyMarks?: ReplyMarks;
}

/** Mock engine for tests: deterministic, without a model. It answers by a script and records its prompts. */
export interface MockEngine extends Engine {
  /** The prompts of the last 1000 generations, oldest first. */
  readonly prompts: readonly Prompt[];
}

const maxRecordedPrompts = 1000;

type ReplyTo = (prompt: Prompt, options: GenerateOptions, node: string) => ScriptedReply;

/** Creates a mock engine; without a script it answers `You said: ...`. */
export function mockEngine(options: MockOptions = {}): MockEngine {
  return new ScriptedEngine(options);
}

class ScriptedEngine implements MockEngine {
  readonly name = 'mock';
  readonly needsFiles = false;
  readonly prompts: Prompt[] = [];
  readonly #options: MockOptions;
  readonly #models = new Set<Model>();

  constructor(options: MockOptions) {
    this.#options = options;
  }

  async load(_file: string, { contextSize, signal, onProgress }: LoadOptions): Promise<Model> {
    if (signal?.aborted) throw new Fault('MODEL_LOAD_FAILED', 'loading the mock model was cancelled');
    onProgress?.(1);
    const { script = [], contextSize: defaultContextSize = 8192, replyMarks = defaultReplyMarks } = this.#options;
    const replyTo: ReplyTo = (prompt, generation, node) => {
      this.prompts.push(prompt);
      if (this.prompts.length > maxRecordedPrompts) this.prompts.shift();
      return findReply(script, scriptedRequest(prompt, generation, node));
    };
    const model: Model = new MockModel(contextSize || defaultContextSize, replyMarks, replyTo, () =>
      this.#models.delete(model),
    );
    this.#models.add(model);
    return model;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#models].map((model) => model[Symbol.asyncDispose]()));
    this.#models.clear();
  }
}

class MockModel implements Model {
  readonly contextSize: number;
  readonly toolDialect = mockDialect;
  readonly notes = [];
  readonly overhead = mockOverhead;
  readonly replyMarks: ReplyMarks;
  readonly #replyTo: ReplyTo;
  readonly #onClose: () => void;
  readonly #sequences = new Set<Sequence>();

  constructor(contextSize: number, replyMarks: ReplyMarks, replyTo: ReplyTo, onClose: () => void) {
    this.contextSize = contextSize;
    this.replyMarks = replyMarks;
    this.#replyTo = replyTo;
    this.#onClose = onClose;
  }

  async count(texts: readonly string[]): Promise<readonly number[]> {
    return texts.map(countText);
  }

  async countTools({ text }: ToolBlock): Promise<number> {
    return countMessages([{ role: 'system', text }]);
  }

  async render(prompt: Prompt): Promise<string> {
    return mockPieces(toTextMessages(prompt))
      .map(({ text }) => text)
      .join('');
  }

  openSequence({ label = '' }: SequenceOptions = {}): Sequence {
    const sequence: Sequence = new MockSequence(label, this, this.#replyTo, () => this.#sequences.delete(sequence));
    this.#sequences.add(sequence);
    return sequence;
  }

  stats(): ModelStats {
    return { ...mockStats, sequences: this.#sequences.size };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#sequences].map((sequence) => sequence[Symbol.asyncDispose]()));
    this.#sequences.clear();
    this.#onClose();
  }
}

const mockStats = {
  backend: 'mock',
  gpuLayers: 0,
  threads: 0,
  slots: 0,
  slotsBusy: 0,
  waiting: 0,
  statesSaved: 0,
  statesRestored: 0,
  stateBytes: 0,
} as const;

class MockSequence implements Sequence {
  readonly label: string;
  readonly #model: Pick<Model, 'contextSize' | 'replyMarks'>;
  readonly #replyTo: ReplyTo;
  readonly #onClose: () => void;
  readonly #abortControllers = new Set<AbortController>();
  readonly #runningWork = new Set<Promise<unknown>>();
  #closed = false;
  #cachedPrompt: readonly Message[] = [];

  constructor(label: string, model: Pick<Model, 'contextSize' | 'replyMarks'>, replyTo: ReplyTo, onClose: () => void) {
    this.label = label;
    this.#model = model;
    this.#replyTo = replyTo;
    this.#onClose = onClose;
  }

  async generate(prompt: Prompt, options: GenerateOptions): Promise<Completion> {
    const messages = toTextMessages(prompt);
    const tokens = mockOverhead.prompt + countMessages(messages);
    const { contextSize } = this.#model;
    if (tokens >= contextSize) throw promptTooLargeFault(tokens, contextSize);
    const reply = this.#replyTo(prompt, options, this.label);
    const controller = new AbortController();
    const abort = (): void => controller.abort();
    if (options.signal.aborted || this.#closed) abort();
    options.signal.addEventListener('abort', abort);
    this.#abortControllers.add(controller);
    const running = this.#generate(messages, tokens, reply, { ...options, signal: controller.signal });
    this.#runningWork.add(running);
    try {
      return await running;
    } finally {
      this.#runningWork.delete(running);
      this.#abortControllers.delete(controller);
      options.signal.removeEventListener('abort', abort);
    }
  }

  async prefill(prompt: Prompt): Promise<void> {
    const stablePrefix = toTextMessages(prompt).slice(0, -1);
    if (commonPrefixTokens(this.#cachedPrompt, stablePrefix) < countMessages(stablePrefix))
      this.#cachedPrompt = stablePrefix;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const controller of this.#abortControllers) controller.abort();
    await Promise.allSettled(this.#runningWork);
    this.#onClose();
  }

  async #generate(
    messages: readonly Message[],
    tokens: number,
    reply: ScriptedReply,
    options: GenerateOptions,
  ): Promise<Completion> {
    const start = performance.now();
    const reused = options.signal.aborted ? 0 : Math.min(tokens - 1, this.#reusedTokens(messages));
    if (!options.signal.aborted) this.#cachedPrompt = messages;
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

  // The prompt's overhead is before the first message, so it is reused together with it.
  #reusedTokens(messages: readonly Message[]): number {
    const prefixTokens = commonPrefixTokens(this.#cachedPrompt, messages);
    return prefixTokens === 0 ? 0 : mockOverhead.prompt + prefixTokens;
  }
}
