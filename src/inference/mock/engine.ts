import { noDialect, type ToolDialect } from '../../chat/dialect/layout.ts';
import { defaultReplyMarks, type ReplyMarks } from '../../chat/replyMarks.ts';
import type { Embeddings, EmbedOptions, ModelLimits } from '../contract/model.ts';
import { DialoglessModel, normalizeVector, textTooLong } from '../contract/model.ts';
import type { Engine, Model, Sequence } from '../contract/engine.ts';
import { countMessages, countText, mockOverhead, mockPieces, MockSequence, type ScriptLookup } from './sequence.ts';
import { noStats, type ModelStats } from '../contract/memory.ts';
import { type Prompt, toTextMessages } from '../../chat/dialog.ts';
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
  /** What its models cannot do. Default: tell how probable a call is, unless the script does. */
  readonly limits?: ModelLimits;
}

const maxRecordedPrompts = 1000;
const noConfidence = 'the mock script has no confidence';

/** A mock engine, and the prompts of its last 1000 inferences, oldest first. */
export type MockEngine = Engine & { readonly prompts: readonly Prompt[] };

/** A deterministic engine for tests. It answers by a script, else `You said: ...`, and records its prompts. */
export function mockEngine(options: MockOptions = {}): MockEngine {
  const { script = [], contextSize: defaultContextSize = 8192, replyMarks = defaultReplyMarks } = options;
  const hasConfidence = script.some(({ reply }) => reply?.choices !== undefined);
  const { limits = hasConfidence ? {} : { confidence: noConfidence } } = options;
  const prompts: Prompt[] = [];
  const models = new Set<Model>();
  const record = (prompt: Prompt): void => {
    prompts.push(prompt);
    if (prompts.length > maxRecordedPrompts) prompts.shift();
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
  return {
    name: 'mock',
    needsFiles: false,
    prompts,
    async load(_file, { contextSize, signal, onProgress, purpose }) {
      if (signal?.aborted) throw new Fault('MODEL_LOAD_FAILED', 'loading the mock model was cancelled');
      onProgress?.(1);
      const onClose = (): void => void models.delete(model);
      const facts = { contextSize: contextSize || defaultContextSize, replyMarks, limits };
      const model: Model =
        purpose === 'embedding'
          ? new MockEmbeddingModel(facts.contextSize, onClose)
          : mockModel(facts, lookup, onClose);
      models.add(model);
      return model;
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...models].map((model) => model[Symbol.asyncDispose]()));
      models.clear();
    },
  };
}

function mockModel(
  facts: Pick<Model, 'contextSize' | 'replyMarks' | 'limits'>,
  lookup: ScriptLookup,
  onEnd: () => void,
): Model {
  const sequences = new Set<Sequence>();
  return {
    ...facts,
    toolDialect: mockDialect,
    canSpeculate: true,
    notes: [],
    overhead: mockOverhead,
    count: async (texts) => texts.map(countText),
    countTools: async ({ text }) => countMessages([{ role: 'system', text }]),
    render: async (prompt) =>
      mockPieces(toTextMessages(prompt))
        .map(({ text }) => text)
        .join(''),
    openSequence({ label = '' } = {}) {
      const sequence: Sequence = new MockSequence(label, facts, lookup, () => sequences.delete(sequence));
      sequences.add(sequence);
      return sequence;
    },
    stats: () => ({ ...noStats, backend: 'mock', sequences: sequences.size }),
    async [Symbol.asyncDispose]() {
      await Promise.all([...sequences].map((sequence) => sequence[Symbol.asyncDispose]()));
      sequences.clear();
      onEnd();
    },
  };
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
