import { stat } from 'node:fs/promises';
import type { ModelDescription } from '../../engine/modelDetails.ts';
import type { ModelFigures } from '../../engine/engine.ts';
import { Fault } from '../../fault.ts';
import type { Formats } from '../../tools/formats/index.ts';
import { adviceOn, formatFor, type FormatAdvice } from './advice.ts';
import { entryOf, type ModelEntry } from './entryDraft.ts';
import type { ModelPool, ModelUse } from '../pool/pool.ts';
import { measureSpeed, type Speed } from './speedBenchmark.ts';
import type { Subject } from './target.ts';
import { answersIn, tryFormat, type FormatTrial } from './toolBenchmark.ts';

/** What a server would do with a model, and how well the model does. */
export interface Diagnosis {
  readonly name: string;
  readonly files: readonly string[];
  /** Bytes of all files. */
  readonly bytes: number;
  readonly model: ModelDescription;
  /** Tokens that a sequence holds. */
  readonly contextSize: number;
  /** What it runs on. */
  readonly figures: Pick<ModelFigures, 'backend' | 'gpuLayers' | 'threads' | 'seats'>;
  /** What the file itself shows. */
  readonly detectedFormat: string | undefined;
  /** The tool-call format to use, and why it is that one. */
  readonly format: FormatAdvice;
  readonly speed: Speed;
  /** The tool questions in each format; undefined: they were not asked. */
  readonly trials: readonly FormatTrial[] | undefined;
  /** What a person should know. */
  readonly notes: readonly string[];
  /** The model in models.json. */
  readonly entry: ModelEntry;
}

/** How far an examination is. */
export type Step =
  | { readonly stage: 'loading'; readonly fraction: number }
  | { readonly stage: 'timing' }
  | { readonly stage: 'asking'; readonly done: number; readonly all: number };

export interface ExamineOptions {
  readonly formats: Formats;
  /** Leaves out the tool questions. */
  readonly quick: boolean;
  readonly signal: AbortSignal;
  readonly onStep: (step: Step) => void;
}

/**
 * Loads a model and finds out what it is, how fast it is and how it calls tools.
 * @param pool has the model under the name of the subject's entry.
 * @throws Fault MODEL_NOT_ON_DISK, MODEL_LOAD_FAILED; the signal's reason when it is aborted.
 */
export async function examine(pool: ModelPool, subject: Subject, options: ExamineOptions): Promise<Diagnosis> {
  const { signal, onStep } = options;
  const { entry } = subject;
  await using use = await pool.use(entry.name, {
    onProgress: (fraction) => onStep({ stage: 'loading', fraction }),
    signal,
  });
  const { model } = use;
  signal.throwIfAborted();
  const described = await model.describe?.();
  if (!described) throw new Fault('MODEL_LOAD_FAILED', `"${entry.name}" is no file, so there is nothing to look at`);
  onStep({ stage: 'timing' });
  const speed = await measureSpeed(model, { sampling: use.defaultSampling, signal }).catch(untold);
  const trials = options.quick ? undefined : await tryAll(use, options);
  const { contextSize, detectedFormat } = model;
  const { backend, gpuLayers, threads, seats } = model.figures();
  const format = formatFor(entry, detectedFormat, trials);
  return {
    name: entry.name,
    files: subject.files,
    bytes: await sizeOf(subject.files),
    model: described,
    contextSize,
    figures: { backend, gpuLayers, threads, seats },
    detectedFormat,
    format,
    speed,
    trials,
    notes: [...model.notes, ...adviceOn({ subject, ends: described.tokens.ends, detectedFormat, format, trials })],
    entry: entryOf(subject, contextSize, format),
  };
}

// In a context too small for a question there is nothing to time; the tool questions say so.
function untold(error: unknown): Speed {
  if (error instanceof Fault) return { read: undefined, written: undefined };
  throw error;
}

async function tryAll(
  { model, defaultSampling: sampling }: ModelUse,
  { formats, signal, onStep }: ExamineOptions,
): Promise<readonly FormatTrial[]> {
  const all = answersIn([...formats.values()]);
  let done = 0;
  onStep({ stage: 'asking', done, all });
  const onAnswer = (): void => onStep({ stage: 'asking', done: ++done, all });
  const trials: FormatTrial[] = [];
  for (const format of formats.values()) trials.push(await tryFormat(model, format, { sampling, signal, onAnswer }));
  return trials;
}

async function sizeOf(files: readonly string[]): Promise<number> {
  const sizes = await Promise.all(files.map(async (file) => (await stat(file)).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
