import { EitherSignal, raceAbort, track } from '../../base/abort.ts';
import { Fault } from '../../protocol/fault.ts';
import type { Engine, LoadOptions, Model, Sequence } from '../contract/engine.ts';
import type { Hardware, LoadPlan } from '../contract/memory.ts';
import { type CacheFolderOptions, openCacheFiles } from '../llama/cacheFiles.ts';
import { EngineProcess, type EngineProcessOptions } from './engineProcess.ts';
import { cancelledFault, CrashCounts, type EngineCrash, Supervisor, toLoadFault } from './supervisor.ts';
import type { LoadCallbacks, SupervisorOptions } from './supervisor.ts';
import type { ProcessPriority } from './lowerPriority.ts';
import { defaultWatchdogLimits, type WatchdogLimits } from './watchdog.ts';
import { onAbort } from '../../base/events.ts';
import type { EmbedOptions, Embeddings } from '../contract/model.ts';
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
  readonly #processOptions: EngineProcessOptions;
  readonly #files: AsyncDisposable | undefined;
  readonly #crashes = new CrashCounts();
  readonly #onCrash: (crash: EngineCrash) => void;
  readonly #models = new Set<Model>();
  readonly #loading = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();
  #spare: EngineProcess | undefined;

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
    this.#processOptions = {
      files,
      timingsFolder: cache?.folder,
      // A process of a lower priority gets little time on a busy machine: what takes long there is no hang.
      watchdog: priority === 'normal' ? watchdog : { ...watchdog, minHangMs: watchdog.minHangMs * 6 },
      gpuDevice,
      priority,
      onStart,
    };
  }

  /** Starts the process of the first model, and loads the library in it. The first load reports what fails here. */
  prepare(gpu: LoadOptions['gpu']): void {
    try {
      this.#prepared()
        .request('prepare', { gpu })
        .result.catch(() => undefined);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
    }
  }

  async readHardware(gpu: LoadOptions['gpu']): Promise<Hardware> {
    return raceAbort(this.#prepared().request('readHardware', { gpu }).result, this.#closing.signal);
  }

  async estimate(file: string, loadOptions: LoadOptions): Promise<LoadPlan> {
    const { signal, onProgress: _, afterCrashes: __, resizing: ___, ...options } = loadOptions;
    using abort = new EitherSignal([signal, this.#closing.signal]);
    try {
      const request = this.#prepared().request('estimate', { file, options });
      return await raceAbort(request.result, abort.signal, () => {
        request.control('abort');
        return cancelledFault(file);
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
      { file, options, resizing, takeProcess: () => this.#takeProcess(), crashes, onCrash: this.#onCrash },
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
    await this.#spare?.kill();
    await this.#files?.[Symbol.asyncDispose]();
  }

  /** The process that the next model gets, unless it has ended by then; it is started if there is none. */
  #prepared(): EngineProcess {
    return this.#spare?.alive ? this.#spare : (this.#spare = new EngineProcess(this.#processOptions));
  }

  /** The process to load a model in. */
  #takeProcess(): EngineProcess {
    const process = this.#prepared();
    this.#spare = undefined;
    return process;
  }
}

/** Loads a model in a supervised process; prompts fill it again after a crash. @throws Fault MODEL_LOAD_FAILED */
async function loadSupervised(
  options: SupervisorOptions,
  callbacks: LoadCallbacks,
  onClose: (model: Model) => void,
): Promise<Model> {
  const supervisor = new Supervisor(options);
  const facts = await supervisor.start(callbacks);
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
    supervision: supervisor,
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
    stats: () => ({ ...supervisor.stats, sequences: sequences.size }),
    [Symbol.asyncDispose]: () => (closed ??= close()),
  };
  return model;
}

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
