import { statSync } from 'node:fs';
import { setMaxListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../protocol/fault.ts';
import { EitherSignal } from '../../base/abort.ts';
import type { LoadOptions } from '../contract/engine.ts';
import { Listeners } from '../../base/events.ts';
import { slowLoadMs } from '../contract/pace.ts';
import type { ModelListener, ProcessEnd } from './engineProcess.ts';
import type { PlainLoadOptions } from './messages.ts';
import { loadInProcess, type ModelProcess, type ProcessHost, toLoadFault } from './modelProcess.ts';
import { UnreceivedRequest } from './peer.ts';

export interface EngineCrash {
  readonly file: string;
  readonly end: ProcessEnd;
  /** Crashes of this model since its last finished turn; 0 when the process was only estimating others. */
  readonly count: number;
}

export interface SupervisorOptions extends ModelListener {
  readonly file: string;
  readonly options: PlainLoadOptions;
  readonly host: ProcessHost;
  readonly crashes: CrashCounts;
  readonly onCrash: (crash: EngineCrash) => void;
}

export type LoadCallbacks = Pick<LoadOptions, 'signal' | 'onProgress'>;

/** The wait before the second restart in a row; each later one waits twice as long. The first one does not wait. */
const firstBackoffMs = 1000;

/**
 * Supervises a model in an engine process. When the process crashes or hangs, its requests fail with ENGINE_CRASHED, and the
 * model is loaded in a new one: at once the first time, later with exponential backoff, not any more after three crashes
 * without a finished turn.
 */
export class Supervisor implements AsyncDisposable {
  readonly #options: SupervisorOptions;
  readonly #closing = new AbortController();
  /** The model in its process, or its load; undefined when it could not be loaded or was given up. */
  #current: Promise<ModelProcess> | undefined;
  /** Of the last load: what is heard of an earlier process has no effect. */
  #loadNumber = 0;
  #wasLoaded = false;
  readonly #slowLoads = new Listeners();
  /** See `ModelSupervision`. */
  readonly onSlowLoad = this.#slowLoads.add;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    // Each generation that waits adds a listener; Node warns of a leak above ten.
    setMaxListeners(0, this.#closing.signal);
  }

  /** Aborted when it is disposed of. */
  get closing(): AbortSignal {
    return this.#closing.signal;
  }

  /** Why the model was given up; undefined while it can be used. */
  get fault(): Fault | undefined {
    return this.#options.crashes.fault(this.#options.file);
  }

  /** Forgets earlier crashes: a turn has finished, or the user wants to try again. */
  forgetCrashes(): void {
    this.#options.crashes.reset(this.#options.file);
  }

  /** Loads the model for the first time, or after it was given up. @throws Fault MODEL_LOAD_FAILED */
  async start(callbacks: LoadCallbacks): Promise<ModelProcess> {
    // A crash may have started a load already.
    const load = (): Promise<ModelProcess> => this.#current ?? this.#track(this.#load(callbacks));
    try {
      return await load().catch((error: unknown) => {
        // A process that was started before it was needed may have ended since.
        if (error instanceof UnreceivedRequest && !this.fault) return load();
        throw error;
      });
    } catch (error) {
      throw toLoadFault(this.#options.file, error);
    }
  }

  /**
   * Runs work with the model in its process, as soon as it is ready. What that process has not received before it crashed
   * runs again in the next one.
   * @throws Fault ENGINE_CRASHED when the process crashes meanwhile, MODEL_LOAD_FAILED when the model was given up,
   * INFERENCE_FAILED when it was unloaded.
   */
  async run<T>(work: (model: ModelProcess) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work(await this.#ready());
      } catch (error) {
        if (!(error instanceof UnreceivedRequest)) throw error;
      }
    }
  }

  async #ready(): Promise<ModelProcess> {
    // Its process has ended on purpose, and is not started again.
    if (this.closing.aborted) throw new Fault('INFERENCE_FAILED', `${this.#options.file} was unloaded`);
    const { fault } = this;
    if (fault) throw fault;
    return this.#current ?? this.#track(this.#load({}));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    const model = await this.#current?.catch(() => undefined);
    await model?.unload();
  }

  async #load({ signal, onProgress }: LoadCallbacks): Promise<ModelProcess> {
    const { file, options, host, onStats, resizing } = this.#options;
    const loadNumber = ++this.#loadNumber;
    using abort = new EitherSignal([signal, this.#closing.signal]);
    const model = await loadInProcess({
      file,
      options,
      host,
      signal: abort.signal,
      onProgress,
      onStats,
      resizing,
      onCrash: (end, isBlamed) => loadNumber === this.#loadNumber && this.#onCrash(end, isBlamed),
    });
    this.#wasLoaded = true;
    return model;
  }

  #onCrash(end: ProcessEnd, isBlamed: boolean): void {
    const { file, crashes, onCrash } = this.#options;
    const count = isBlamed ? crashes.add(file) : 0;
    this.#current = undefined;
    onCrash({ file, end, count });
    if (this.#wasLoaded && !this.#closing.signal.aborted && !this.fault)
      this.#track(this.#restart(count)).catch(() => undefined);
  }

  async #restart(count: number): Promise<ModelProcess> {
    if (count > 1) {
      await wait(firstBackoffMs * 2 ** (count - 2), undefined, { signal: this.#closing.signal });
    }
    return this.#load({});
  }

  /** Makes a load the current one until it fails: then the next request tries again. */
  #track(loading: Promise<ModelProcess>): Promise<ModelProcess> {
    this.#current = loading;
    const timer = setInterval(() => this.#slowLoads.call(), slowLoadMs);
    loading.catch(() => this.#current === loading && (this.#current = undefined)).finally(() => clearInterval(timer));
    return loading;
  }
}

/** After this many crashes without a finished turn between them, a model is given up. */
const maxCrashes = 3;

/** Crashes of models since their last finished turn, by file. */
export class CrashCounts {
  readonly #counts = new Map<string, number>();

  /** Counts a crash. @returns the number of crashes since the last finished turn. */
  add(file: string): number {
    const key = fileKey(file);
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count;
  }

  /** Forgets the crashes of a file. */
  reset(file: string): void {
    if (this.#counts.size > 0) this.#counts.delete(fileKey(file));
  }

  /** Why a file is not loaded any more; undefined while it may be loaded. */
  fault(file: string): Fault | undefined {
    const count = this.#counts.size > 0 ? (this.#counts.get(fileKey(file)) ?? 0) : 0;
    if (count < maxCrashes) return undefined;
    return new Fault(
      'MODEL_LOAD_FAILED',
      `${file} is not loaded: its engine process has crashed ${count} times without a finished turn; ` +
        'loadModel tries again, or use another file',
    );
  }
}

// Another file of the same name has not crashed.
function fileKey(file: string): string {
  try {
    const { size, mtimeMs } = statSync(file);
    return `${file} ${size} ${mtimeMs}`;
  } catch {
    // Its disk was removed, for example.
    return file;
  }
}
