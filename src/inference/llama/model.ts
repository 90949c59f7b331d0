import { GgmlType, GgufFileType, type LlamaModel as Weights } from 'node-llama-cpp';
import type { ModelDetails, ToolToken } from '../contract/model.ts';
import { noStats, type MemoryUse, type ModelStats } from '../contract/memory.ts';
import { nativeFormatName } from '../../chat/dialect/nativeFormat.ts';
import { callMarks } from '../../chat/dialect/layout.ts';
import { type ChatTemplate, probeChatTemplate } from '../../chat/template/chatTemplate.ts';
import { Tokenizer } from '../decoding/tokenizer.ts';
import type { Prompt, ToolBlock } from '../../chat/dialog.ts';
import type { Model, Sequence, SequenceOptions } from '../contract/engine.ts';
import { BackgroundGate } from './batching/backgroundGate.ts';
import type { LoadedWeights } from './contextMemory.ts';
import type { ModelContext } from './createContext.ts';
import { type GrammarCache, grammarCache } from './sampling/grammarCache.ts';
import type { ReplyMarks } from '../../chat/replyMarks.ts';
import { SlotPool } from './kvCache/slots.ts';
import { SlotResizer, type SlotResizerParts } from './kvCache/slotResizer.ts';
import { countTools, overheadDialogs, overheadOf } from '../decoding/templateProbes.ts';
import { cardsOf } from './libraryFault.ts';
import { LlamaSequence, type SequenceParts } from './sequence.ts';
import { PromptRenderer } from './promptRenderer.ts';

/** What a model is made of. It owns and disposes `context` and `weights`. */
export interface LlamaModelParts
  extends
    Omit<ModelContext, 'batchTimer'>,
    Omit<SlotResizerParts, 'slots' | 'onResized' | 'closing'>,
    Pick<LoadedWeights, 'weights' | 'notes' | 'onClose'>,
    Pick<SequenceParts, 'promptCache'> {
  /** Free memory before loading. */
  readonly free: MemoryUse;
}

/** A loaded GGUF model: weights, and one llama.cpp context for all its sequences. */
export class LlamaModel implements Model {
  readonly contextSize: number;
  readonly toolDialect: Model['toolDialect'];
  readonly canSpeculate: boolean;
  readonly notes: readonly string[];
  readonly overhead: Model['overhead'];
  readonly replyMarks: ReplyMarks;
  readonly #parts: LlamaModelParts;
  readonly #tokenizer: Tokenizer;
  readonly #chatTemplate: ChatTemplate;
  readonly #renderer: PromptRenderer;
  readonly #grammarCache: GrammarCache;
  readonly #slots: SlotPool;
  readonly #resizer: SlotResizer;
  readonly #closing = new AbortController();
  readonly #gate = new BackgroundGate();

  readonly #sequences = new Set<Sequence>();
  #closed: Promise<void> | undefined;

  constructor(parts: LlamaModelParts) {
    const { weights } = parts;
    const { chat_template: source, ggml } = weights.fileInfo.metadata.tokenizer;
    const specialTokens = { bos: weights.tokens.bosString ?? '', eos: weights.tokens.eosString ?? '' };
    const chatTemplate = probeChatTemplate(source, specialTokens, undefined, (text) => ggml.tokens.includes(text));
    this.#parts = parts;
    this.replyMarks = chatTemplate.replyMarks;
    this.#tokenizer = new Tokenizer(weights, this.replyMarks);
    this.#chatTemplate = chatTemplate;
    this.#renderer = new PromptRenderer(chatTemplate, this.#tokenizer);
    this.#grammarCache = grammarCache(weights);
    this.#slots = new SlotPool(parts.context, parts.stateSwap !== undefined);
    this.#resizer = new SlotResizer({
      ...parts,
      slots: this.#slots,
      onResized: () => parts.resizing?.onResized(this.stats()),
      closing: this.#closing.signal,
    });
    this.canSpeculate = !this.#slots.needsCheckpoints;
    this.contextSize = parts.contextSize;
    this.toolDialect = chatTemplate.toolDialect;
    this.notes = [...parts.notes, ...chatTemplate.notes];
    this.overhead = overheadOf(overheadDialogs.map((messages) => this.#addedTokens(messages)));
  }

  async count(texts: readonly string[]): Promise<readonly number[]> {
    const counts: number[] = [];
    for (const text of texts) counts.push(await this.#tokenizer.count(text, this.contextSize));
    return counts;
  }

  countTools(tools: ToolBlock): Promise<number> {
    return countTools(this.#renderer, tools, this.contextSize);
  }

  async render(prompt: Prompt): Promise<string> {
    return this.#renderer.render(prompt).text;
  }

  openSequence({ label = '' }: SequenceOptions = {}): Sequence {
    const sequence = new LlamaSequence({
      ...this.#parts,
      label,
      slots: this.#slots,
      reserve: (tokens, spare) => this.#resizer.reserve(tokens, spare),
      gate: this.#gate,
      prompts: this.#renderer,
      grammarCache: this.#grammarCache,
      replyMarks: this.replyMarks,
      prefillChunkTokens: this.#parts.context.batchSize,
      onClose: (closed) => this.#sequences.delete(closed),
    });
    this.#sequences.add(sequence);
    return sequence;
  }

  stats(): ModelStats {
    const { weights, threads, stateSwap, promptCache } = this.#parts;
    return {
      ...noStats,
      backend: weights.gpuLayers > 0 && weights.llama.gpu ? weights.llama.gpu : 'cpu',
      gpuLayers: weights.gpuLayers,
      threads: threads.decode,
      prefillThreads: threads.prefill,
      ...this.#slots.stats(),
      sequences: this.#sequences.size,
      memory: this.#resizer.memory,
      ...stateSwap?.stats(),
      promptsRestored: promptCache?.restored ?? 0,
    };
  }

  shrink(): Promise<void> {
    return this.#resizer.shrink();
  }

  describe(): Promise<ModelDetails> {
    const { memory } = this.#resizer;
    return modelDetails({ ...this.#parts, memory }, this.#chatTemplate, this.#tokenizer);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return (this.#closed ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#sequences].map((sequence) => sequence[Symbol.asyncDispose]()));
    await this.#resizer[Symbol.asyncDispose]();
    await this.#parts.weights.dispose();
    this.#parts.onClose(this);
  }

  #addedTokens(messages: Prompt['messages']): number {
    const whole = this.#renderer.tokens(this.#renderer.render({ messages }));
    return whole.length - messages.flatMap(({ text }) => this.#tokenizer.tokenizePlain(text)).length;
  }
}

async function modelDetails(
  { weights, free, memory, threadTimings }: LlamaModelParts,
  chatTemplate: ChatTemplate,
  tokenizer: Tokenizer,
): Promise<ModelDetails> {
  const { fileInfo, fileInsights } = weights;
  const { fallback, system, supportsTools } = chatTemplate;
  return {
    architecture: fileInfo.metadata.general.architecture,
    layers: fileInfo.architectureMetadata.block_count ?? fileInsights.totalLayers,
    parameters: fileInsights.totalParameters,
    quantisation: quantization(weights),
    trainedContext: weights.trainContextSize,
    template: { fallback, system, supportsTools },
    tokens: { ...eogTokens(weights, tokenizer), toolTokens: findToolTokens(tokenizer, chatTemplate) },
    memory: { weights: memory.weights, slots: memory.context, slot: memory.slot, free },
    cards: weights.gpuLayers > 0 ? await cardsOf(weights.llama) : [],
    threadBenchmarks: [...threadTimings].map(([threads, ms]) => ({ threads, tokensPerSecond: 1000 / ms })),
  };
}

// The file type in the metadata; else the type of most of the tensors.
function quantization({ fileInfo, fileInsights }: Weights): string {
  const { file_type: type } = fileInfo.metadata.general;
  const name = type === undefined ? undefined : GgufFileType[type];
  if (name !== undefined) return name.replace(/^(?:MOSTLY|ALL)_/, '');
  const { dominantTensorType: dominant } = fileInsights;
  return dominant === undefined ? 'unknown' : GgmlType[dominant];
}

function eogTokens({ tokens }: Weights, { bosToken }: Tokenizer): Omit<ModelDetails['tokens'], 'toolTokens'> {
  const eogStrings = [tokens.eosString, tokens.eotString].filter((token) => token !== null);
  return { bos: tokens.bosString ?? undefined, addsBos: bosToken !== undefined, eog: [...new Set(eogStrings)] };
}

function findToolTokens(
  tokenizer: Tokenizer,
  { toolDialect: { layout } }: ChatTemplate,
): Readonly<Record<string, readonly ToolToken[]>> {
  const textsByFormat = { ...toolTokensByFormat, ...(layout && { [nativeFormatName]: callMarks(layout) }) };
  return Object.fromEntries(
    Object.entries(textsByFormat).map(([format, texts]) => [
      format,
      texts.map((text) => ({ text, kind: tokenizer.tokenKind(text) })),
    ]),
  );
}

const toolTokensByFormat: Readonly<Record<string, readonly string[]>> = {
  chatml: ['<tool_call>', '</tool_call>'],
  llama3: ['<|python_tag|>', '<|eom_id|>'],
  mistral: ['[AVAILABLE_TOOLS]', '[/AVAILABLE_TOOLS]', '[TOOL_CALLS]'],
};
