import { noDialect, type ToolDialect } from '../../chat/dialect/toolDialect.ts';
import { defaultReplyMarks, type ReplyMarks } from '../../chat/replyMarks.ts';
import {
  DialoglessModel,
  type Embeddings,
  type EmbedOptions,
  normalizeVector,
  textTooLong,
} from '../contract/model.ts';
import type { Engine, LoadOptions, Model, Sequence, SequenceOptions } from '../contract/engine.ts';
import { countMessages, countText, mockOverhead, mockPieces, MockSequence, type ScriptLookup } from './sequence.ts';
import { noStats, type ModelStats } from '../contract/memory.ts';
import { type Prompt, type ToolBlock, toTextMessages } from '../../chat/dialog.ts';
import { Fault } from '../../protocol/fault.ts';
import { callsInTags } from '../../chat/dialect/knownLayouts.ts';
import { findReply, findScores, type MockScript, scriptedRequest } from './script.ts';

/** A graph whose nodes name `native` can be checked and tested without a model: calls are then written as in chatml. */
const mockDialect: ToolDialect = { ...noDialect('the mock engine has no chat template'), layout: callsInTags };

export interface MockOptions {
  readonly script?: MockScript;
  /** Context size, in tokens, for loads that give none. Default 8192. */
  readonly contextSize?: number;
  /** The marks of reasoning and answer in the scripted replies. Default: `<think>` and `[THINK]`. */
  readonly replyMarks?: ReplyMarks;
}

const maxRecordedPrompts = 1000;

/** Creates a mock engine; without a script it answers `You said: ...`. */
export const mockEngine = (options: MockOptions = {}): MockEngine => new MockEngine(options);

/** Mock engine for tests: deterministic, without a model. It answers by a script and records its prompts. */
export class MockEngine implements Engine {
  readonly name = 'mock';
  readonly needsFiles = false;
  /** The prompts of the last 1000 inferences, oldest first. */
  readonly prompts: Prompt[] = [];
  readonly #options: MockOptions;
  readonly #models = new Set<Model>();

  constructor(options: MockOptions) {
    this.#options = options;
  }

  async load(_file: string, { contextSize, signal, onProgress, purpose }: LoadOptions): Promise<Model> {
    if (signal?.aborted) throw new Fault('MODEL_LOAD_FAILED', 'loading the mock model was cancelled');
    onProgress?.(1);
    const { script = [], contextSize: defaultContextSize = 8192, replyMarks = defaultReplyMarks } = this.#options;
    const record = (prompt: Prompt): void => {
      this.prompts.push(prompt);
      if (this.prompts.length > maxRecordedPrompts) this.prompts.shift();
    };
    const lookup: ScriptLookup = {
      reply(prompt, inference, node) {
        record(prompt);
        return findReply(script, scriptedRequest(prompt, inference, node));
      },
      scores(prompt, inference, node) {
        record(prompt);
        return findScores(script, scriptedRequest(prompt, inference, node));
      },
    };
    const onClose = (): void => void this.#models.delete(model);
    const size = contextSize || defaultContextSize;
    const model: Model =
      purpose === 'embedding'
        ? new MockEmbeddingModel(size, onClose)
        : new MockModel(size, replyMarks, lookup, onClose);
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
  readonly canSpeculate = true;
  readonly notes = [];
  readonly overhead = mockOverhead;
  readonly replyMarks: ReplyMarks;
  readonly #lookup: ScriptLookup;
  readonly #onClose: () => void;
  readonly #sequences = new Set<Sequence>();

  constructor(contextSize: number, replyMarks: ReplyMarks, lookup: ScriptLookup, onClose: () => void) {
    this.contextSize = contextSize;
    this.replyMarks = replyMarks;
    this.#lookup = lookup;
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
    const sequence: Sequence = new MockSequence(label, this, this.#lookup, () => this.#sequences.delete(sequence));
    this.#sequences.add(sequence);
    return sequence;
  }

  stats(): ModelStats {
    return { ...noStats, backend: 'mock', sequences: this.#sequences.size };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#sequences].map((sequence) => sequence[Symbol.asyncDispose]()));
    this.#sequences.clear();
    this.#onClose();
  }
}

const dimensions = 64;

/** An embedding model without weights: texts are similar as far as they share words. */
export class MockEmbeddingModel extends DialoglessModel implements Model {
  readonly contextSize: number;
  readonly notes = [];
  readonly embedding = { dimensions };
  readonly #onClose: () => void;

  constructor(contextSize: number, onClose: () => void) {
    super();
    this.contextSize = contextSize;
    this.#onClose = onClose;
  }

  async embed(texts: readonly string[], { signal, truncate = false }: EmbedOptions): Promise<Embeddings> {
    signal.throwIfAborted();
    const counts = texts.map(countText);
    const truncated = [...counts.keys()].filter((index) => (counts[index] ?? 0) > this.contextSize);
    const [first] = truncated;
    if (first !== undefined && !truncate) throw textTooLong(first, `${counts[first]} tokens`, this.contextSize);
    return {
      vectors: texts.map(hashedWords),
      tokens: counts.map((count) => Math.min(count, this.contextSize)),
      truncated,
    };
  }

  async count(texts: readonly string[]): Promise<readonly number[]> {
    return texts.map(countText);
  }

  stats(): ModelStats {
    return { ...noStats, backend: 'mock' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#onClose();
  }
}

/** Counts words by their hash (feature hashing): the sign keeps unlike words apart that share a place. */
function hashedWords(text: string): Float32Array {
  const vector = new Float32Array(dimensions);
  for (const [word] of text.toLowerCase().matchAll(/[\p{L}\p{N}]+/gu)) {
    let hash = 2_166_136_261;
    for (let index = 0; index < word.length; index++) hash = Math.imul(hash ^ word.charCodeAt(index), 16_777_619);
    const place = (hash >>> 8) % dimensions;
    vector[place] = (vector[place] ?? 0) + (hash & 1 ? 1 : -1);
  }
  return normalizeVector(vector);
}
