import { GgmlType, GgufFileType, type LlamaModel as Weights } from 'node-llama-cpp';
import type { MemoryUse, ToolToken, ModelDetails } from '../modelDetails.ts';
import { detectToolFormat, toolTokensByFormat } from './tokenizer/detectToolFormat.ts';
import type { ChatTemplate } from './prompt/chatTemplate.ts';
import type { ThreadTimings } from './threads/threadTuner.ts';
import type { Tokenizer } from './tokenizer/tokenizer.ts';

/** What was measured while a model was loaded. */
export interface MemoryMeasurements {
  /** Free before it. */
  readonly free: MemoryUse;
  /** What its slots take. */
  readonly slotMemory: MemoryUse;
  readonly threadTimings: ThreadTimings;
}

export interface LoadedModelFacts extends MemoryMeasurements {
  readonly weights: Weights;
  readonly chatTemplate: ChatTemplate;
  readonly tokenizer: Tokenizer;
}

/** Says what a model is and how it was taken. */
export async function modelDetails({
  weights,
  chatTemplate,
  tokenizer,
  ...measured
}: LoadedModelFacts): Promise<ModelDetails> {
  const { fileInfo, fileInsights, gpuLayers } = weights;
  const { cpuRam, gpuVram } = await fileInsights.estimateModelResourceRequirementsV2({ gpuLayers });
  const { fallbackReason, system, supportsTools } = chatTemplate;
  return {
    architecture: fileInfo.metadata.general.architecture,
    layers: fileInfo.architectureMetadata.block_count ?? fileInsights.totalLayers,
    parameters: fileInsights.totalParameters,
    quantisation: quantization(weights),
    trainedContext: weights.trainContextSize,
    template: { fallbackReason, system, supportsTools },
    detectedIn: whereDetected(fileInfo.metadata.tokenizer.chat_template ?? '', tokenizer),
    tokens: { ...eogTokens(weights, tokenizer), toolTokens: findToolTokens(tokenizer) },
    memory: { weights: { ram: cpuRam, vram: gpuVram }, slots: measured.slotMemory, free: measured.free },
    threadBenchmarks: [...measured.threadTimings].map(([threads, ms]) => ({ threads, tokensPerSecond: 1000 / ms })),
  };
}

// The file's own word; else what most of its tensors are.
function quantization({ fileInfo, fileInsights }: Weights): string {
  const { file_type: type } = fileInfo.metadata.general;
  const name = type === undefined ? undefined : GgufFileType[type];
  if (name !== undefined) return name.replace(/^(?:MOSTLY|ALL)_/, '');
  const { dominantTensorType: dominant } = fileInsights;
  return dominant === undefined ? 'unknown' : GgmlType[dominant];
}

function whereDetected(template: string, tokenizer: Tokenizer): ModelDetails['detectedIn'] {
  const detected = detectToolFormat(template, tokenizer);
  if (detected === undefined) return undefined;
  return detectToolFormat(template, { has: () => false }) === detected ? 'template' : 'vocabulary';
}

function eogTokens({ tokens }: Weights, { bosToken: first }: Tokenizer): Omit<ModelDetails['tokens'], 'toolTokens'> {
  const ends = [tokens.eosString, tokens.eotString].filter((end) => end !== null);
  return { bos: tokens.bosString ?? undefined, addsBos: first !== undefined, eog: [...new Set(ends)] };
}

const findToolTokens = (tokenizer: Tokenizer): Readonly<Record<string, readonly ToolToken[]>> =>
  Object.fromEntries(
    Object.entries(toolTokensByFormat).map(([format, toolTokens]) => [
      format,
      toolTokens.map((text) => ({ text, kind: tokenizer.tokenKind(text) })),
    ]),
  );
