import { EitherSignal, raceAbort, track } from '../../base/abort.ts';
import { Fault } from '../../protocol/fault.ts';
import type { Engine, LoadOptions, Model } from '../contract/engine.ts';
import type { LoadPlan } from '../contract/memory.ts';
import { type CacheFolderOptions, openCacheFiles } from '../llama/cacheFiles.ts';
import { CrashCounts, type EngineCrash } from './supervisor.ts';
import { toLoadFault, ProcessHost } from './modelProcess.ts';
import type { ProcessPriority } from './lowerPriority.ts';
import { SupervisedModel } from './supervisedModel.ts';
import { defaultWatchdogLimits, type WatchdogLimits } from './watchdog.ts';

/** Options of a llama.cpp engine in processes of its own. */
export interface ProcessEngineOptions {
  /** Absent: nothing is written to disk. */
  readonly cache?: CacheFolderOptions;
  /** Receives the id of each process that is started. */
  readonly onStart?: (pid: number) => void;
  /** Is told of each crash. */
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
    this.#host = new ProcessHost({
      files,
      timingsFolder: cache?.folder,
      watchdog: priority === 'normal' ? watchdog : patientLimits(watchdog),
      gpuDevice,
      priority,
      onStart,
    });
  }

  /**
   * Starts a process that the first model will use, and loads the library in it. What fails here is reported by the first
   * load.
   */
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
    const loading = SupervisedModel.load(
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
