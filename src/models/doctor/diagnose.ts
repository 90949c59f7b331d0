import { stat } from 'node:fs/promises';
import type { ModelDetails } from '../../engine/modelDetails.ts';
import type { ModelStats } from '../../engine/engine.ts';
import { Fault } from '../../fault.ts';
import type { Formats } from '../../tools/formats/index.ts';
import { adviseOn, formatFor, type FormatAdvice } from './advice.ts';
import { draftEntry, type ModelEntry } from './entryDraft.ts';
import type { ModelPool, ModelLease } from '../pool/pool.ts';
import { measureSpeed, type Speed } from './speedBenchmark.ts';
import type { DoctorTarget } from './target.ts';
import { countAnswers, benchmarkFormat, type FormatScore } from './toolBenchmark.ts';

/** What a server would do with a model, and how well the model does. */
export interface Diagnosis {
  readonly name: string;
  readonly files: readonly string[];
  /** Bytes of all files. */
  readonly bytes: number;
  readonly model: ModelDetails;
  /** Tokens that a sequence holds. */
  readonly contextSize: number;
  /** What it runs on. */
  readonly stats: Pick<ModelStats, 'backend' | 'gpuLayers' | 'threads' | 'slots'>;
  /** What the file itself shows. */
  readonly detectedFormat: string | undefined;
  /** The tool-call format to use, and why it is that one. */
  readonly format: FormatAdvice;
  readonly speed: Speed;
  /** The tool questions in each format; undefined: they were not asked. */
  readonly trials: readonly FormatScore[] | undefined;
  /** What a person should know. */
  readonly notes: readonly string[];
  /** The model in models.json. */
  readonly entry: ModelEntry;
}

/** How far an examination is. */
export type DoctorStage =
  | { readonly stage: 'loading'; readonly fraction: number }
  | { readonly stage: 'timing' }
  | { readonly stage: 'asking'; readonly done: number; readonly all: number };

export interface DiagnoseOptions {
  readonly formats: Formats;
  /** Leaves out the tool questions. */
  readonly quick: boolean;
  readonly signal: AbortSignal;
  readonly onStage: (step: DoctorStage) => void;
}

/**
 * Loads a model and finds out what it is, how fast it is and how it calls tools.
 * @param pool has the model under the name of the subject's entry.
 * @throws Fault MODEL_NOT_ON_DISK, MODEL_LOAD_FAILED; the signal's reason when it is aborted.
 */
export async function diagnose(pool: ModelPool, subject: DoctorTarget, options: DiagnoseOptions): Promise<Diagnosis> {
  const { signal, onStage: onStep } = options;
  const { entry } = subject;
  await using use = await pool.lease(entry.name, {
    onProgress: (fraction) => onStep({ stage: 'loading', fraction }),
    signal,
  });
  const { model } = use;
  signal.throwIfAborted();
  const described = await model.describe?.();
  if (!described) throw new Fault('MODEL_LOAD_FAILED', `"${entry.name}" is no file, so there is nothing to look at`);
  onStep({ stage: 'timing' });
  const speed = await measureSpeed(model, { sampling: use.defaultSampling, signal }).catch(noSpeed);
  const trials = options.quick ? undefined : await benchmarkFormats(use, options);
  const { contextSize, detectedFormat } = model;
  const { backend, gpuLayers, threads, slots } = model.stats();
  const format = formatFor(entry, detectedFormat, trials);
  return {
    name: entry.name,
    files: subject.files,
    bytes: await totalSize(subject.files),
    model: described,
    contextSize,
    stats: { backend, gpuLayers, threads, slots },
    detectedFormat,
    format,
    speed,
    trials,
    notes: [
      ...model.notes,
      ...adviseOn({ target: subject, eogTokens: described.tokens.eog, detectedFormat, format, trials }),
    ],
    entry: draftEntry(subject, contextSize, format),
  };
}

// In a context too small for a question there is nothing to time; the tool questions say so.
function noSpeed(error: unknown): Speed {
  if (error instanceof Fault) return { prefillPerSecond: undefined, decodePerSecond: undefined };
  throw error;
}

async function benchmarkFormats(
  { model, defaultSampling: sampling }: ModelLease,
  { formats, signal, onStage: onStep }: DiagnoseOptions,
): Promise<readonly FormatScore[]> {
  const all = countAnswers([...formats.values()]);
  let done = 0;
  onStep({ stage: 'asking', done, all });
  const onAnswer = (): void => onStep({ stage: 'asking', done: ++done, all });
  const trials: FormatScore[] = [];
  for (const format of formats.values())
    trials.push(await benchmarkFormat(model, format, { sampling, signal, onAnswer }));
  return trials;
}

async function totalSize(files: readonly string[]): Promise<number> {
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
