import { stat } from 'node:fs/promises';
import type { ModelDetails } from '../../inference/contract/model.ts';
import type { ModelStats } from '../../inference/contract/memory.ts';
import type { Completion, Model } from '../../inference/contract/engine.ts';
import type { SamplingParams } from '../../inference/contract/samplingParams.ts';
import { neverAborted } from '../../base/abort.ts';
import { Fault } from '../../protocol/fault.ts';
import { formats } from '../../chat/formats/index.ts';
import { formatsOf } from '../../chat/dialect/nativeFormat.ts';
import type { ToolDialect } from '../../chat/dialect/layout.ts';
import type { ReplyMarks } from '../../chat/replyMarks.ts';
import { adviseOn, draftEntry, formatFor, type FormatAdvice, type ModelEntry } from './advice.ts';
import type { ModelLease } from '../../inference/models/pool/lease.ts';
import type { ModelPool } from '../../inference/models/pool/pool.ts';
import type { DoctorTarget } from './target.ts';
import { benchmarkFormat, countAnswers, isAnswerFault, type FormatScore } from './toolBenchmark.ts';

/** Report of `turngraph doctor`: how the server would run a model, its speed and its tool calls. */
export interface Diagnosis {
  readonly name: string;
  readonly files: readonly string[];
  /** Total size of all files, in bytes. */
  readonly bytes: number;
  readonly model: ModelDetails;
  readonly contextSize: number;
  readonly stats: Pick<ModelStats, 'backend' | 'gpuLayers' | 'threads' | 'prefillThreads' | 'slots'>;
  /** The tool-call dialect that the chat template proves. */
  readonly toolDialect: ToolDialect;
  /** The marks of reasoning and answer, read off the chat template. */
  readonly replyMarks: ReplyMarks;
  /** Recommended tool-call format, and why. */
  readonly format: FormatAdvice;
  readonly speed: Speed;
  /** Tool benchmark in each format; undefined if it was skipped. */
  readonly trials: readonly FormatScore[] | undefined;
  /** Warnings and advice, one sentence each. */
  readonly notes: readonly string[];
  /** Entry for models.json. */
  readonly entry: ModelEntry;
}

/** Told of each stage of a diagnosis, and of how far it is. */
export type OnStage = (title: string, progress?: string) => void;

/** Measures a model's speed and tool calls. @param quick skips the tool benchmark. @throws Fault of the load, ENGINE_CRASHED */
export const diagnose = (pool: ModelPool, target: DoctorTarget, quick: boolean, onStage: OnStage): Promise<Diagnosis> =>
  examine(pool, target, quick, onStage).catch((error: unknown) => {
    throw toCrashFault(target, error);
  });

async function examine(pool: ModelPool, target: DoctorTarget, quick: boolean, onStage: OnStage): Promise<Diagnosis> {
  const { entry, files } = target;
  await using lease = await load(pool, entry.name, onStage);
  const { model } = lease;
  const details = await model.describe?.();
  if (!details) throw new Fault('MODEL_LOAD_FAILED', `"${entry.name}" is not a file, so there is nothing to diagnose`);
  onStage(timingStage);
  const speed = await measureSpeed(model, lease.defaultSampling).catch(noSpeed);
  const trials = quick ? undefined : await benchmarkFormats(lease, onStage);
  const { contextSize, toolDialect, replyMarks } = model;
  const { backend, gpuLayers, threads, prefillThreads, slots } = model.stats();
  const format = formatFor(entry, toolDialect, trials);
  const report = {
    name: entry.name,
    files,
    bytes: await totalSize(files),
    model: details,
    contextSize,
    stats: { backend, gpuLayers, threads, prefillThreads, slots },
    toolDialect,
    replyMarks,
    format,
    speed,
    trials,
  };
  const notes = [...model.notes, ...adviseOn(target, report)];
  return { ...report, notes, entry: draftEntry(target, contextSize, format) };
}

const load = (pool: ModelPool, name: string, onStage: OnStage): Promise<ModelLease> =>
  pool.lease(name, {
    onProgress: (fraction) => onStage(`loading ${name}`, ` ${Math.floor(fraction * 100)} %`),
  });

const timingStage = 'measuring prefill and decode speed';

// That of the engine is for a client, which can send its message again.
function toCrashFault({ files: [file = ''] }: DoctorTarget, error: unknown): unknown {
  if (!(error instanceof Fault) || error.name !== 'ENGINE_CRASHED') return error;
  const [reason = ''] = error.message.split(';');
  const hint = 'the file is damaged, or its model needs more memory than there is';
  const message = `${file} was loaded, but cannot answer: ${reason}: ${hint}`;
  return new Fault('ENGINE_CRASHED', message, { cause: error });
}

// An error of an answer means that the context is too small for a prompt; the tool benchmark then reports `failed`.
function noSpeed(error: unknown): Speed {
  if (isAnswerFault(error)) return { prefillPerSecond: undefined, decodePerSecond: undefined };
  throw error;
}

async function benchmarkFormats(
  { model, defaultSampling }: ModelLease,
  onStage: OnStage,
): Promise<readonly FormatScore[]> {
  const available = [...formatsOf(model.toolDialect, formats).values()];
  const all = countAnswers(available);
  let done = 0;
  const tell = (): void => onStage(`asking ${all} tool questions`, `, ${done++} done`);
  tell();
  const trials: FormatScore[] = [];
  for (const format of available) trials.push(await benchmarkFormat(model, format, defaultSampling, tell));
  return trials;
}

async function totalSize(files: readonly string[]): Promise<number> {
  return sum(await Promise.all(files.map(async (file) => (await stat(file)).size)));
}

/** Speed of one sequence that runs alone, in tokens per second; undefined: not measurable, too few tokens came. */
interface Speed {
  /** Prompt tokens evaluated per second (pp of llama-bench). */
  readonly prefillPerSecond: number | undefined;
  /** Tokens generated per second (tg of llama-bench). */
  readonly decodePerSecond: number | undefined;
}

// The warm-up estimates the prefill speed; the timed prompt then takes about `targetPrefillSeconds`.
const warmUpTokens = 48;
const [minPromptTokens, maxPromptTokens] = [64, 512];
const targetPrefillSeconds = 3;
const decodeTokens = 32;

/** Speed benchmark: measures prefill and decode of a model. @throws Fault of the engine. */
async function measureSpeed(model: Model, sampling: SamplingParams): Promise<Speed> {
  const maxTokens = Math.floor(model.contextSize / 2);
  const run = async (character: string, tokens: number): Promise<Completion> => {
    await using sequence = model.openSequence();
    const text = await createStoryPrompt(model, character, Math.min(tokens, maxTokens));
    return await sequence.generate(
      { messages: [{ role: 'user', text }], thinking: false },
      { sampling: { ...sampling, temperature: 0, max_tokens: decodeTokens, stop: [] }, signal: neverAborted() },
    );
  };
  const warmUpRate = prefillRate(await run('guest', warmUpTokens)) ?? 0;
  const timed = await run(
    'traveller',
    Math.max(minPromptTokens, Math.min(maxPromptTokens, warmUpRate * targetPrefillSeconds)),
  );
  // Some models answer briefly: run more prompts until enough tokens were generated.
  const runs: Completion[] = [timed];
  for (const character of ['sailor', 'wizard', 'farmer'])
    if (countDecodeSteps(runs) < decodeTokens - 1) runs.push(await run(character, warmUpTokens));
  return {
    prefillPerSecond: prefillRate(timed),
    decodePerSecond: tokensPerSecond(countDecodeSteps(runs), sum(runs.map(decodeMs))),
  };
}

const prefillRate = ({ tokens, timings }: Completion): number | undefined =>
  tokensPerSecond(tokens.prompt - tokens.reused, timings.firstTokenMs - timings.queuedMs);

// Decode steps: the first token belongs to prefill; the end-of-generation token is a step, but not in `generated`.
const countDecodeSteps = (completions: readonly Completion[]): number =>
  sum(completions.map(({ tokens, finishReason }) => Math.max(0, tokens.generated - (finishReason === 'end' ? 0 : 1))));

const decodeMs = ({ timings }: Completion): number =>
  timings.firstTokenMs === 0 ? 0 : timings.totalMs - timings.firstTokenMs;

const tokensPerSecond = (tokens: number, ms: number): number | undefined =>
  tokens > 0 && ms > 0 ? (tokens * 1000) / ms : undefined;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

async function createStoryPrompt(model: Model, character: string, tokens: number): Promise<string> {
  const line = (index: number): string => `On day ${index} a ${character} came to the inn and asked for a room. `;
  const [tokensPerLine = 1] = await model.count([line(10)]);
  const lines = Array.from({ length: Math.max(1, Math.round(tokens / tokensPerLine)) }, (_, index) => line(index + 1));
  return `${lines.join('')}Tell me a long story about the ${character}.`;
}

/** Report of `turngraph doctor` on an embedding model. */
export type EmbeddingDiagnosis = Awaited<ReturnType<typeof diagnoseEmbedding>>;

const sentence = 'The ferry to the island leaves at dawn.';
const alike = 'The boat to the isle goes early in the morning.';
const unlike = 'A blacksmith needs coal, iron and a good hammer.';
const timedRuns = 5;

/**
 * Diagnoses an embedding model: loads it, and measures how fast it embeds short texts.
 * @param pool its catalogue has the model under the name of the target's entry.
 * @throws Fault MODEL_NOT_ON_DISK, MODEL_LOAD_FAILED
 */
export async function diagnoseEmbedding(pool: ModelPool, target: DoctorTarget, onStage: OnStage) {
  const { entry, files } = target;
  await using lease = await load(pool, entry.name, onStage);
  const { model, prefixes } = lease;
  const embed = model.embed?.bind(model);
  if (!model.embedding || !embed) throw new Fault('MODEL_LOAD_FAILED', `"${entry.name}" computes no vectors`);
  onStage(timingStage);
  const documents = [alike, unlike].map((text) => prefixes.document + text);
  const texts = [prefixes.query + sentence, ...documents];
  const { vectors, tokens } = await embed(texts, { signal: neverAborted(), truncate: true });
  const started = performance.now();
  for (let run = 0; run < timedRuns; run++) await embed(texts, { signal: neverAborted(), truncate: true });
  const seconds = (performance.now() - started) / 1000;
  const [first, ...others] = vectors;
  const [near = 0, far = 0] = others.map((vector) => dot(first, vector));
  const { backend, gpuLayers, prefillThreads, memory } = model.stats();
  return {
    name: entry.name,
    files,
    bytes: await totalSize(files),
    /** The number of values of a vector. */
    dimensions: model.embedding.dimensions,
    /** Tokens that a text may have. */
    contextSize: model.contextSize,
    prefixes,
    stats: { backend, gpuLayers, prefillThreads, memory },
    textsPerSecond: (timedRuns * texts.length) / seconds,
    tokensPerSecond: (timedRuns * sum(tokens)) / seconds,
    /** Cosine similarities of a sentence to one in other words, and to one about something else. */
    similarities: { alike: near, unlike: far },
    notes: [...model.notes, ...adviseOnEmbedding(target, near, far)],
    entry: draftEntry(target, model.contextSize, { name: '', reason: '', isFound: false }),
  };
}

function* adviseOnEmbedding(
  { entry, isListed, existingName }: DoctorTarget,
  near: number,
  far: number,
): Generator<string> {
  if (existingName !== undefined) yield `models.json has this file already, as "${existingName}"`;
  if (!isListed && !entry.embedding)
    yield 'if its maker names words before queries and documents, add them as "embedding": {"query_prefix", "document_prefix"}';
  if (!(near > far)) yield 'a sentence is less like itself in other words than another one: is it a trained model?';
}

const dot = (a: Float32Array = new Float32Array(), b: Float32Array): number =>
  a.reduce((total, value, index) => total + value * (b[index] ?? 0), 0);
