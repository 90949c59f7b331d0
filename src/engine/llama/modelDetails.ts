import { GgmlType, GgufFileType, type LlamaModel as Weights } from 'node-llama-cpp';
import type { Bytes, CallMark, ModelDescription } from '../modelDetails.ts';
import { detectFormat, marksOf } from './tokenizer/detectToolFormat.ts';
import type { Layout } from './prompt/chatTemplate.ts';
import type { ThreadTimes } from './threads/threadTuner.ts';
import type { Vocabulary } from './tokenizer/tokenizer.ts';

/** What was measured while a model was loaded. */
export interface Measured {
  /** Free before it. */
  readonly free: Bytes;
  /** What its seats take. */
  readonly taken: Bytes;
  readonly threadTimes: ThreadTimes;
}

export interface Taken extends Measured {
  readonly weights: Weights;
  readonly layout: Layout;
  readonly vocabulary: Vocabulary;
}

/** Says what a model is and how it was taken. */
export async function describe({ weights, layout, vocabulary, ...measured }: Taken): Promise<ModelDescription> {
  const { fileInfo, fileInsights, gpuLayers } = weights;
  const { cpuRam, gpuVram } = await fileInsights.estimateModelResourceRequirementsV2({ gpuLayers });
  const { unused, system, knowsTools } = layout;
  return {
    architecture: fileInfo.metadata.general.architecture,
    layers: fileInfo.architectureMetadata.block_count ?? fileInsights.totalLayers,
    parameters: fileInsights.totalParameters,
    quantisation: quantisationOf(weights),
    trainedContext: weights.trainContextSize,
    template: { unused, system, knowsTools },
    detectedIn: detectedIn(fileInfo.metadata.tokenizer.chat_template ?? '', vocabulary),
    tokens: { ...endsOf(weights, vocabulary), marks: marksIn(vocabulary) },
    memory: { weights: { ram: cpuRam, vram: gpuVram }, seats: measured.taken, free: measured.free },
    threadTrials: [...measured.threadTimes].map(([threads, ms]) => ({ threads, tokensPerSecond: 1000 / ms })),
  };
}

// The file's own word; else what most of its tensors are.
function quantisationOf({ fileInfo, fileInsights }: Weights): string {
  const { file_type: type } = fileInfo.metadata.general;
  const name = type === undefined ? undefined : GgufFileType[type];
  if (name !== undefined) return name.replace(/^(?:MOSTLY|ALL)_/, '');
  const { dominantTensorType: dominant } = fileInsights;
  return dominant === undefined ? 'unknown' : GgmlType[dominant];
}

function detectedIn(template: string, vocabulary: Vocabulary): ModelDescription['detectedIn'] {
  const detected = detectFormat(template, vocabulary);
  if (detected === undefined) return undefined;
  return detectFormat(template, { has: () => false }) === detected ? 'template' : 'vocabulary';
}

function endsOf({ tokens }: Weights, { first }: Vocabulary): Omit<ModelDescription['tokens'], 'marks'> {
  const ends = [tokens.eosString, tokens.eotString].filter((end) => end !== null);
  return { begin: tokens.bosString ?? undefined, isPutFirst: first !== undefined, ends: [...new Set(ends)] };
}

const marksIn = (vocabulary: Vocabulary): Readonly<Record<string, readonly CallMark[]>> =>
  Object.fromEntries(
    Object.entries(marksOf).map(([format, marks]) => [
      format,
      marks.map((spelling) => ({ spelling, kind: vocabulary.kindOf(spelling) })),
    ]),
  );
