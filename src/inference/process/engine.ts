import { EitherSignal, raceAbort, track } from '../../base/abort.ts';
import { Fault } from '../../protocol/fault.ts';
import type { Engine, LoadOptions, Model, Sequence } from '../contract/engine.ts';
import { type Hardware, type LoadPlan, noStats, totalMemory, type ModelStats } from '../contract/memory.ts';
import { type CacheFolderOptions, openCacheFiles } from '../llama/cacheFiles.ts';
import { CrashCounts, type EngineCrash, Supervisor, type LoadCallbacks, type SupervisorOptions } from './supervisor.ts';
import { toLoadFault, type ProcessHost, processHost } from './modelProcess.ts';
import type { ProcessPriority } from './lowerPriority.ts';
import { defaultWatchdogLimits, type WatchdogLimits } from './watchdog.ts';
import { onAbort } from '../../base/events.ts';
import type { EmbedOptions, Embeddings, ModelSupervision } from '../contract/model.ts';
import type { EngineRequests } from './messages.ts';
import { SupervisedSequence } from './supervisedSequence.ts';

export interface ProcessEngineOptions {
  /** Absent: nothing is written to disk. */
  readonly cache?: CacheFolderOptions;
  /** Receives the id of each process that is started. */
  readonly onStart?: (pid: number) => void;
  readonly onCrash?: (crash: EngineCrash) => void;
  readonly watchdog?: WatchdogLimits;
  /** Default: normal. */
  readonly priority?: ProcessPriority;
  /** The one graphics card that models use; absent: all. */
  readonly gpuDevice?: number | undefined;
}

/** The llama.cpp engine in supervised processes of its own: a crash of native code ends no session. */
export class ProcessEngine implements Engine {
  readonly name = 'llama-cpp';
  readonly needsFiles = true;
  readonly #host: ProcessHost;
  readonly #files: AsyncDisposable | undefined;
  readonly #crashes = new CrashCounts();
  readonly #onCrash: (crash: EngineCrash) => void;
  readonly #models = new Set<Model>();
  readonly #loading = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor({
    cache,
    onStart = () => undefined,
    onCrash = () => undefined,
    watchdog = defaultWatchdogLimits,
    gpuDevice,
    priority = 'normal',
  }: ProcessEngineOptions = {}) {
    const files = cache && openCacheFiles(cache);
    this.#files = files;
    this.#onCrash = onCrash;
    this.#host = processHost({
      files,
      timingsFolder: cache?.folder,
      watchdog: priority === 'normal' ? watchdog : patientLimits(watchdog),
      gpuDevice,
      priority,
      onStart,
    });
  }

  /** Starts the process of the first model, and loads the library in it. The first load reports what fails here. */
  prepare(gpu: LoadOptions['gpu']): void {
    try {
      this.#host
        .prepare()
        .request('prepare', { gpu })
        .result.catch(() => undefined);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
    }
  }

  async readHardware(gpu: LoadOptions['gpu']): Promise<Hardware> {
    return raceAbort(this.#host.prepare().request('readHardware', { gpu }).result, this.#closing.signal);
  }

  async estimate(file: string, loadOptions: LoadOptions): Promise<LoadPlan> {
    const { signal, onProgress: _, afterCrashes: __, resizing: ___, ...options } = loadOptions;
    using abort = new EitherSignal([signal, this.#closing.signal]);
    try {
      const request = this.#host.prepare().request('estimate', { file, options });
      return await raceAbort(request.result, abort.signal, () => {
        request.control('abort');
        return new Fault('MODEL_LOAD_FAILED', `loading ${file} was cancelled`);
      });
    } catch (error) {
      throw toLoadFault(file, error);
    }
  }

  async load(file: string, { signal, onProgress, afterCrashes, resizing, ...options }: LoadOptions): Promise<Model> {
    const crashes = this.#crashes;
    if (afterCrashes) crashes.reset(file);
    const fault = crashes.fault(file);
    if (fault) throw fault;
    using abort = new EitherSignal([signal, this.#closing.signal]);
    const loading = loadSupervised(
      { file, options, resizing, host: this.#host, crashes, onCrash: this.#onCrash },
      { signal: abort.signal, ...(onProgress && { onProgress }) },
      (closed) => this.#models.delete(closed),
    );
    const added = loading.then((model) => this.#models.add(model) && model);
    return await track(this.#loading, added);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled(this.#loading);
    await Promise.all([...this.#models].map((model) => model[Symbol.asyncDispose]()));
    await this.#host[Symbol.asyncDispose]();
    await this.#files?.[Symbol.asyncDispose]();
  }
}

/** A process of a lower priority gets little time on a busy machine: what takes long there is no hang. */
const patientLimits = ({ minHangMs, ...limits }: WatchdogLimits): WatchdogLimits => ({
  ...limits,
  minHangMs: minHangMs * 6,
});

/** Loads a model in a supervised process; prompts fill it again after a crash. @throws Fault MODEL_LOAD_FAILED */
async function loadSupervised(
  options: Omit<SupervisorOptions, 'onStats'>,
  callbacks: LoadCallbacks,
  onClose: (model: Model) => void,
): Promise<Model> {
  const stats = processStats();
  const supervisor = createSupervisor(options, stats);
  const { facts } = await supervisor.start(callbacks);
  const { embedding } = facts;
  const sequences = new Set<Sequence>();
  let lastSequence = 0;
  let closed: Promise<void> | undefined;
  const ask = <Name extends keyof EngineRequests & string>(name: Name, params: EngineRequests[Name]['params']) =>
    supervisor.run((process) => process.request(name, params).result);
  const close = async (): Promise<void> => {
    await supervisor[Symbol.asyncDispose]();
    await Promise.all([...sequences].map((sequence) => sequence[Symbol.asyncDispose]()));
    onClose(model);
  };
  const model: Model = {
    ...facts,
    embed: embedding && ((texts, embedOptions) => embed(supervisor, texts, embedOptions)),
    supervision: supervisionBy(supervisor),
    count: (texts) => ask('count', { texts }),
    countTools: (tools) => ask('countTools', { tools }),
    render: (prompt) => ask('render', { prompt }),
    shrink: () => ask('shrink', {}),
    async describe() {
      const details = await ask('describe', {});
      if (!details) throw new Fault('INTERNAL', 'the engine does not describe its model');
      return details;
    },
    openSequence({ label = '' } = {}) {
      const onSequenceClose = (sequence: Sequence): void => void sequences.delete(sequence);
      const sequence = new SupervisedSequence({ id: ++lastSequence, label }, supervisor, onSequenceClose);
      sequences.add(sequence);
      return sequence;
    },
    stats: () => ({ ...stats.current(), sequences: sequences.size }),
    [Symbol.asyncDispose]: () => (closed ??= close()),
  };
  return model;
}

function createSupervisor(
  options: Omit<SupervisorOptions, 'onStats'>,
  stats: ReturnType<typeof processStats>,
): Supervisor {
  let hasCrashed = false;
  return new Supervisor({
    ...options,
    onStats(latest) {
      stats.set(latest);
      // A new process begins with the first number of slots.
      if (hasCrashed) void options.resizing?.requestMemory(totalMemory(latest.memory));
      hasCrashed = false;
    },
    onCrash(crash) {
      hasCrashed = true;
      stats.processEnded();
      options.onCrash(crash);
    },
  });
}

const supervisionBy = (supervisor: Supervisor): ModelSupervision => ({
  get fault() {
    return supervisor.fault;
  },
  async restart(callbacks) {
    if (!supervisor.fault) return;
    supervisor.forgetCrashes();
    await supervisor.start(callbacks);
  },
  turnFinished: () => supervisor.forgetCrashes(),
  onSlowLoad: supervisor.onSlowLoad,
});

async function embed(
  supervisor: Supervisor,
  texts: readonly string[],
  { signal, ...options }: EmbedOptions,
): Promise<Embeddings> {
  const embedding = supervisor.run(async (process) => {
    signal.throwIfAborted();
    const request = process.request('embed', { texts, options });
    return request.result.finally(onAbort(signal)(() => request.control('abort')));
  });
  return raceAbort(embedding, signal).catch((error: unknown) => {
    if (signal.aborted || !supervisor.closing.aborted) throw error;
    throw new Fault('INFERENCE_FAILED', 'the embedding model was unloaded', { cause: error });
  });
}

/** The statistics of a model over all its processes: counters never fall. */
function processStats() {
  let latest = noStats;
  let earlier = { statesSaved: 0, statesRestored: 0, promptsRestored: 0 };
  const current = (): ModelStats => ({
    ...latest,
    statesSaved: earlier.statesSaved + latest.statesSaved,
    statesRestored: earlier.statesRestored + latest.statesRestored,
    promptsRestored: earlier.promptsRestored + latest.promptsRestored,
  });
  return {
    current,
    set: (stats: ModelStats): void => void (latest = stats),
    processEnded(): void {
      earlier = current();
      const { backend, slots, memory } = latest;
      latest = { ...noStats, backend, slots, memory };
    },
  };
}
