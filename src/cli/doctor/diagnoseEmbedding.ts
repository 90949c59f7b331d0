import type { EmbeddingPrefixes } from '../../inference/contract/model.ts';
import type { ModelStats } from '../../inference/contract/memory.ts';
import { Fault } from '../../protocol/fault.ts';
import type { ModelPool } from '../../inference/models/pool/pool.ts';
import { type Diagnosis, type DoctorStage, sum, totalSize } from './diagnose.ts';
import { draftEntry } from './advice.ts';
import type { DoctorTarget } from './target.ts';

/** Report of `turngraph doctor` on an embedding model. */
export interface EmbeddingDiagnosis extends Pick<Diagnosis, 'name' | 'files' | 'bytes' | 'notes' | 'entry'> {
  /** The number of values of a vector. */
  readonly dimensions: number;
  /** Tokens that a text may have. */
  readonly contextSize: number;
  readonly prefixes: EmbeddingPrefixes;
  readonly stats: Pick<ModelStats, 'backend' | 'gpuLayers' | 'prefillThreads' | 'memory'>;
  readonly textsPerSecond: number;
  readonly tokensPerSecond: number;
  /** Cosine similarities of a sentence to one in other words, and to one about something else. */
  readonly similarities: { readonly alike: number; readonly unlike: number };
}

const sentence = 'The ferry to the island leaves at dawn.';
const alike = 'The boat to the isle goes early in the morning.';
const unlike = 'A blacksmith needs coal, iron and a good hammer.';
const timedRuns = 5;

/**
 * Diagnoses an embedding model: loads it, and measures how fast it embeds short texts.
 * @param pool its catalogue has the model under the name of the target's entry.
 * @throws Fault MODEL_NOT_ON_DISK, MODEL_LOAD_FAILED; the signal's reason when it is aborted.
 */
export async function diagnoseEmbedding(
  pool: ModelPool,
  target: DoctorTarget,
  { signal, onStage }: { readonly signal: AbortSignal; readonly onStage: (stage: DoctorStage) => void },
): Promise<EmbeddingDiagnosis> {
  const { entry, files } = target;
  const onProgress = (fraction: number): void => onStage({ stage: 'loading', fraction });
  await using lease = await pool.lease(entry.name, { onProgress, signal });
  const { model, prefixes } = lease;
  const embed = model.embed?.bind(model);
  if (!model.embedding || !embed) throw new Fault('MODEL_LOAD_FAILED', `"${entry.name}" computes no vectors`);
  onStage({ stage: 'timing' });
  const documents = [alike, unlike].map((text) => prefixes.document + text);
  const texts = [prefixes.query + sentence, ...documents];
  const { vectors, tokens } = await embed(texts, { signal, truncate: true });
  const started = performance.now();
  for (let run = 0; run < timedRuns; run++) await embed(texts, { signal, truncate: true });
  const seconds = (performance.now() - started) / 1000;
  const [first, ...others] = vectors;
  const [near = 0, far = 0] = others.map((vector) => dot(first, vector));
  const { backend, gpuLayers, prefillThreads, memory } = model.stats();
  return {
    name: entry.name,
    files,
    bytes: await totalSize(files),
    dimensions: model.embedding.dimensions,
    contextSize: model.contextSize,
    prefixes,
    stats: { backend, gpuLayers, prefillThreads, memory },
    textsPerSecond: (timedRuns * texts.length) / seconds,
    tokensPerSecond: (timedRuns * sum(tokens)) / seconds,
    similarities: { alike: near, unlike: far },
    notes: [...model.notes, ...adviseOn(target, near, far)],
    entry: draftEntry(target, model.contextSize, { name: '', reason: '', isFound: false }),
  };
}

function* adviseOn({ entry, isListed, existingName }: DoctorTarget, near: number, far: number): Generator<string> {
  if (existingName !== undefined) yield `models.json has this file already, as "${existingName}"`;
  if (!isListed && !entry.embedding)
    yield 'if its maker names words before queries and documents, add them as "embedding": {"query_prefix", "document_prefix"}';
  if (!(near > far)) yield 'a sentence is less like itself in other words than another one: is it a trained model?';
}

const dot = (a: Float32Array = new Float32Array(), b: Float32Array): number =>
  a.reduce((total, value, index) => total + value * (b[index] ?? 0), 0);
