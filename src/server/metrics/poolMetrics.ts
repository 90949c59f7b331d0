import { withMembers } from '../../base/withMembers.ts';
import type { Engine, GenerateOptions, InferenceResult, Model, Sequence } from '../../inference/contract/engine.ts';
import { Pace } from '../../inference/contract/pace.ts';
import type { Metrics, SetMetric } from './metrics.ts';
import type { ModelMemory, ModelStats } from '../../inference/contract/memory.ts';
import type { MemoryBudget } from '../../inference/models/pool/memoryBudget.ts';
import { ModelPool } from '../../inference/models/pool/pool.ts';
import type { PoolOptions } from '../../inference/models/pool/poolOptions.ts';

interface Labels {
  readonly engine: string;
  readonly model: string;
}

export interface MeteredPoolOptions extends Omit<PoolOptions, 'wrapLoad'> {
  /** Called after each load, with its duration in milliseconds. */
  readonly onLoaded: (name: string, model: Model, ms: number) => void;
  /** Called with the decode speed of each generation that shows how fast the model is, in tokens per second. */
  readonly onSpeed: (name: string, rate: number) => void;
}

/** Creates a model pool that exports metrics of its models, loads, generations and slots. */
export function createMeteredPool(engine: Engine, options: MeteredPoolOptions, metrics: Metrics): ModelPool {
  // Only models that were requested at least once export metrics.
  const requestedModels = new Set<string>();
  const wrapLoad = async (name: string, load: () => Promise<Model>, signal: AbortSignal): Promise<Model> => {
    requestedModels.add(name);
    const labels = { engine: engine.name, model: name };
    const start = performance.now();
    const model = await load().catch((error: unknown) => {
      // A load that no client waits for any more was given up, and did not fail.
      if (!signal.aborted) metrics.add('turngraph_model_load_failures_total', labels);
      throw error;
    });
    const ms = performance.now() - start;
    metrics.observe('turngraph_model_load_duration_seconds', labels, seconds(ms));
    const observed = observeModel(model, labels, metrics, (rate) => options.onSpeed(name, rate));
    options.onLoaded(name, observed, ms);
    return observed;
  };
  const pool = new ModelPool(engine, { ...options, wrapLoad });
  metrics.onScrape((set) => {
    for (const model of requestedModels) exportGauges({ engine: engine.name, model }, pool, set);
  });
  return pool;
}

function countInference(labels: Labels, { finishReason, tokens, timings }: InferenceResult, metrics: Metrics): void {
  const { prompt, reused, generated } = tokens;
  const { queuedMs, firstTokenMs, totalMs } = timings;
  metrics.add('turngraph_generations_total', { ...labels, stopped: finishReason });
  metrics.add('turngraph_prompt_tokens_total', labels, prompt);
  metrics.add('turngraph_reused_tokens_total', labels, reused);
  metrics.add('turngraph_generated_tokens_total', labels, generated);
  // If it was aborted during prefill, the number of evaluated tokens is unknown.
  const hasPrefilled = finishReason !== 'aborted' || firstTokenMs > 0;
  if (hasPrefilled) metrics.add('turngraph_evaluated_tokens_total', labels, Math.max(0, prompt - reused));
  metrics.observe('turngraph_slot_wait_seconds', labels, seconds(queuedMs));
  metrics.observe('turngraph_generation_duration_seconds', labels, seconds(totalMs));
  if (firstTokenMs === 0) return;
  metrics.observe('turngraph_time_to_first_token_seconds', labels, seconds(firstTokenMs));
  const rate = decodeRate({ tokens, timings });
  if (rate !== undefined) metrics.observe('turngraph_decode_tokens_per_second', labels, rate);
}

/** Tokens per second after the first one; undefined: there were none. */
function decodeRate({ tokens, timings }: Pick<InferenceResult, 'tokens' | 'timings'>): number | undefined {
  const decodeSeconds = seconds(timings.totalMs - timings.firstTokenMs);
  const isDecoded = timings.firstTokenMs > 0 && tokens.generated > 1 && decodeSeconds > 0;
  return isDecoded ? (tokens.generated - 1) / decodeSeconds : undefined;
}

// Of fewer tokens the speed is not exact.
const minMeasuredTokens = 16;

function exportGauges(labels: Labels, pool: ModelPool, set: SetMetric): void {
  const { loaded, pinned, uses, contextSize, stats } = pool.state(labels.model);
  set('turngraph_model_loaded', labels, Number(loaded));
  set('turngraph_model_pinned', labels, Number(pinned));
  set('turngraph_model_uses', labels, uses);
  if (!stats) return;
  set('turngraph_model_info', { ...labels, backend: stats.backend }, 1);
  set('turngraph_model_context_tokens', labels, contextSize);
  exportMemory(labels, stats.memory, set);
  set('turngraph_model_gpu_layers', labels, stats.gpuLayers);
  set('turngraph_model_threads', labels, stats.threads);
  set('turngraph_model_prefill_threads', labels, stats.prefillThreads);
  set('turngraph_slots', labels, stats.slots);
  set('turngraph_slots_busy', labels, stats.slotsBusy);
  set('turngraph_slots_waiting', labels, stats.waiting);
  set('turngraph_sequences', labels, stats.sequences);
  set('turngraph_checkpoint_bytes', labels, stats.checkpointBytes);
  set('turngraph_state_bytes', labels, stats.stateBytes);
}

function exportMemory(labels: Labels, { weights, context, slot }: ModelMemory, set: SetMetric): void {
  for (const memory of ['ram', 'vram'] as const) {
    set('turngraph_model_memory_bytes', { ...labels, part: 'weights', memory }, weights[memory]);
    set('turngraph_model_memory_bytes', { ...labels, part: 'context', memory }, context[memory]);
    set('turngraph_model_slot_bytes', { ...labels, memory }, slot[memory]);
  }
}

export function exportBudget(budget: MemoryBudget, metrics: Metrics): void {
  metrics.onScrape((set) => {
    for (const memory of ['ram', 'vram'] as const) {
      if (!Number.isFinite(budget.limit[memory])) continue;
      set('turngraph_memory_limit_bytes', { memory }, budget.limit[memory]);
      set('turngraph_memory_reserved_bytes', { memory }, budget.used[memory]);
    }
  });
}

const seconds = (milliseconds: number): number => milliseconds / 1000;

/** Wraps a model of any engine, and counts its inferences and what it has saved: nothing for each token. */
function observeModel(model: Model, labels: Labels, metrics: Metrics, onSpeed: (rate: number) => void): Model {
  const [saved, restored, prompts] = [counterIncrease(), counterIncrease(), counterIncrease()];
  const stats = (): ModelStats => {
    const current = model.stats();
    metrics.add('turngraph_states_saved_total', labels, saved(current.statesSaved));
    metrics.add('turngraph_states_restored_total', labels, restored(current.statesRestored));
    metrics.add('turngraph_prompts_restored_total', labels, prompts(current.promptsRestored));
    return current;
  };
  // An inference that ran alone shows how fast the model is.
  let running = 0;
  let started = 0;
  const observe = async <T extends InferenceResult>(inference: Promise<T>, isLimited = true): Promise<T> => {
    const number = ++started;
    const isFirst = ++running === 1;
    const result = await inference
      .catch((error: unknown) => {
        metrics.add('turngraph_generations_total', { ...labels, stopped: 'failed' });
        throw error;
      })
      .finally(() => running--);
    countInference(labels, result, metrics);
    const rate = decodeRate(result);
    const isAlone = isFirst && started === number;
    if (rate !== undefined && isAlone && !isLimited && result.tokens.generated >= minMeasuredTokens) onSpeed(rate);
    return result;
  };
  const observeSequence = (sequence: Sequence): Sequence =>
    withMembers(sequence, {
      generate: (prompt, options) => observe(sequence.generate(prompt, options), isThrottled(options)),
      score: (...args) => observe(sequence.score(...args)),
    });
  return withMembers(model, {
    stats,
    openSequence: (...args) => observeSequence(model.openSequence(...args)),
    async [Symbol.asyncDispose]() {
      try {
        stats();
      } finally {
        await model[Symbol.asyncDispose]();
      }
    },
  });
}

/** Turns absolute readings of a counter into increments. One that has fallen was reset: then the whole reading counts. */
function counterIncrease(): (reading: number) => number {
  let last = 0;
  return (reading) => {
    const increase = reading >= last ? reading - last : reading;
    last = reading;
    return increase;
  };
}

/** Whether a generation is slower than its model, because its client wants that. */
const isThrottled = ({ sampling, pace = new Pace() }: GenerateOptions): boolean =>
  sampling.max_tokens_per_second > 0 || Object.values(pace.limits).some(Boolean);
