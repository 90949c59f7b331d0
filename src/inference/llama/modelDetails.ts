import { GgmlType, GgufFileType, type LlamaModel as Weights } from 'node-llama-cpp';
import type { ToolToken, ModelDetails } from '../contract/model.ts';
import type { MemoryUse, ModelMemory } from '../contract/memory.ts';
import { nativeFormatName } from '../../chat/dialect/nativeFormat.ts';
import { callMarks } from '../../chat/dialect/layout.ts';
import type { ChatTemplate } from '../../chat/template/chatTemplate.ts';
import type { ThreadTimings } from './threads/threadTuner.ts';
import type { Tokenizer } from '../decoding/tokenizer.ts';

/** What was measured while a model was being loaded. */
export interface MemoryMeasurements {
  /** Free memory before loading. */
  readonly free: MemoryUse;
  readonly memory: ModelMemory;
  readonly threadTimings: ThreadTimings;
}

export interface LoadedModelFacts extends MemoryMeasurements {
  readonly weights: Weights;
  readonly chatTemplate: ChatTemplate;
  readonly tokenizer: Tokenizer;
}

/** Collects facts about a model file and how it was loaded. */
export async function modelDetails({
  weights,
  chatTemplate,
  tokenizer,
  ...measurements
}: LoadedModelFacts): Promise<ModelDetails> {
  const { fileInfo, fileInsights } = weights;
  const { memory } = measurements;
  const { fallbackReason, system, supportsTools } = chatTemplate;
  return {
    architecture: fileInfo.metadata.general.architecture,
    layers: fileInfo.architectureMetadata.block_count ?? fileInsights.totalLayers,
    parameters: fileInsights.totalParameters,
    quantisation: quantization(weights),
    trainedContext: weights.trainContextSize,
    template: { fallbackReason, system, supportsTools },
    tokens: { ...eogTokens(weights, tokenizer), toolTokens: findToolTokens(tokenizer, chatTemplate) },
    memory: { weights: memory.weights, slots: memory.context, slot: memory.slot, free: measurements.free },
    threadBenchmarks: [...measurements.threadTimings].map(([threads, ms]) => ({ threads, tokensPerSecond: 1000 / ms })),
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

/** The strings around the calls of a format for which its model families have special tokens. */
const toolTokensByFormat: Readonly<Record<string, readonly string[]>> = {
  chatml: ['<tool_call>', '</tool_call>'],
  llama3: ['<|python_tag|>', '<|eom_id|>'],
  mistral: ['[AVAILABLE_TOOLS]', '[/AVAILABLE_TOOLS]', '[TOOL_CALLS]'],
};
