import { insertTools, type Message, type Prompt, type ToolBlock } from '../../dialog.ts';
import { Fault } from '../../fault.ts';
import { promptTooLargeFault } from '../promptTooLarge.ts';
import type { Completion, Engine, GenerateOptions, LoadOptions, Model, ModelStats, Sequence } from '../engine.ts';
import { findReply, type MockScript, type ScriptedReply } from './script.ts';
import { mockOverhead, commonPrefixTokens, countMessages, countText } from './tokens.ts';
import { generateReply } from './generate.ts';

export { readMockScript } from './script.ts';

export interface MockOptions {
  readonly script?: MockScript;
  /** Tokens of a context when the load does not say; 8192 when this does not either. */
  readonly contextSize?: number;
}

/** An engine without a model: it answers by a script, the same way every time, and remembers what it was asked. */
export interface MockEngine extends Engine {
  /** The last thousand prompts that were given to generate, oldest first. */
  readonly prompts: readonly Prompt[];
}

const maxRememberedPrompts = 1000;

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
    const { script = [], contextSize: usual = 8192 } = this.#options;
    const reply = (prompt: Prompt): ScriptedReply => {
      this.prompts.push(prompt);
      if (this.prompts.length > maxRememberedPrompts) this.prompts.shift();
      return findReply(script, prompt.messages.findLast(({ role }) => role === 'user')?.text ?? '');
    };
    const model: Model = new MockModel(contextSize || usual, reply, () => this.#models.delete(model));
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
  readonly detectedFormat = undefined;
  readonly notes = [];
  readonly overhead = mockOverhead;
  readonly #reply: (prompt: Prompt) => ScriptedReply;
  readonly #onClose: () => void;
  readonly #sequences = new Set<Sequence>();

  constructor(contextSize: number, reply: (prompt: Prompt) => ScriptedReply, onClose: () => void) {
    this.contextSize = contextSize;
    this.#reply = reply;
    this.#onClose = onClose;
  }

  async count(texts: readonly string[]): Promise<readonly number[]> {
    return texts.map(countText);
  }

  async countTools({ text }: ToolBlock): Promise<number> {
    return countMessages([{ role: 'system', text }]);
  }

  async render(prompt: Prompt): Promise<string> {
    return insertTools(prompt)
      .map(({ role, text }) => `${role}: ${text}\n`)
      .join('');
  }

  openSequence(): Sequence {
    const sequence: Sequence = new MockSequence(this.contextSize, this.#reply, () => this.#sequences.delete(sequence));
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
  readonly #contextSize: number;
  readonly #reply: (prompt: Prompt) => ScriptedReply;
  readonly #onClose: () => void;
  readonly #halts = new Set<AbortController>();
  readonly #work = new Set<Promise<unknown>>();
  #closed = false;
  #cachedPrompt: readonly Message[] = [];

  constructor(contextSize: number, reply: (prompt: Prompt) => ScriptedReply, onClose: () => void) {
    this.#contextSize = contextSize;
    this.#reply = reply;
    this.#onClose = onClose;
  }

  async generate(prompt: Prompt, options: GenerateOptions): Promise<Completion> {
    const messages = insertTools(prompt);
    const tokens = mockOverhead.prompt + countMessages(messages);
    if (tokens >= this.#contextSize) throw promptTooLargeFault(tokens, this.#contextSize);
    const reply = this.#reply(prompt);
    const halt = new AbortController();
    const stop = (): void => halt.abort();
    if (options.signal.aborted || this.#closed) stop();
    options.signal.addEventListener('abort', stop);
    this.#halts.add(halt);
    const working = this.#generate(messages, tokens, reply, { ...options, signal: halt.signal });
    this.#work.add(working);
    try {
      return await working;
    } finally {
      this.#work.delete(working);
      this.#halts.delete(halt);
      options.signal.removeEventListener('abort', stop);
    }
  }

  async prefill(prompt: Prompt): Promise<void> {
    const head = insertTools(prompt).slice(0, -1);
    if (commonPrefixTokens(this.#cachedPrompt, head) < countMessages(head)) this.#cachedPrompt = head;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const halt of this.#halts) halt.abort();
    await Promise.allSettled(this.#work);
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
    const room = Math.min(options.sampling.max_tokens, this.#contextSize - tokens);
    const { text, stopped, first } = await generateReply(reply, options, room);
    if (text !== '') this.#cachedPrompt = [...messages, { role: 'assistant', text }];
    return {
      text,
      stopped,
      tokens: { prompt: tokens, reused, generated: countText(text) },
      timings: { queuedMs: 0, firstTokenMs: first && first - start, totalMs: performance.now() - start },
    };
  }

  // The frame's own tokens stand before the first message.
  #reusedTokens(messages: readonly Message[]): number {
    const shared = commonPrefixTokens(this.#cachedPrompt, messages);
    return shared === 0 ? 0 : mockOverhead.prompt + shared;
  }
}
