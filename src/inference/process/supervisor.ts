import { statSync } from 'node:fs';
import { setMaxListeners } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { Fault } from '../../protocol/fault.ts';
import { EitherSignal, raceAbort, settledWithin } from '../../base/abort.ts';
import type { LoadOptions } from '../contract/engine.ts';
import { type ModelStats, noStats, type SlotResizing, totalMemory } from '../contract/memory.ts';
import type { ModelSupervision } from '../contract/model.ts';
import { Listeners } from '../../base/events.ts';
import { slowLoadMs } from '../contract/pace.ts';
import { EngineCrashedFault, type EngineProcess, type ProcessEnd } from './engineProcess.ts';
import type { LoadedFacts, PlainLoadOptions } from './messages.ts';
import { UnreceivedRequest } from './peer.ts';

export interface EngineCrash {
  readonly file: string;
  readonly end: ProcessEnd;
  /** Crashes of this model since its last finished turn; 0 when the process was only estimating others. */
  readonly count: number;
}

export interface SupervisorOptions {
  readonly file: string;
  readonly options: PlainLoadOptions;
  /** Undefined: its number of slots is fixed. */
  readonly resizing: SlotResizing | undefined;
  /** A process to load the model in, which the supervisor ends. @throws Fault MODEL_LOAD_FAILED when none can be started. */
  readonly takeProcess: () => EngineProcess;
  readonly crashes: CrashCounts;
  readonly onCrash: (crash: EngineCrash) => void;
}

export type LoadCallbacks = Pick<LoadOptions, 'signal' | 'onProgress'>;

/** A model in its engine process, from its load to its unloading or the end of the process. */
interface ModelProcess {
  readonly process: EngineProcess;
  readonly facts: LoadedFacts;
}

/** The wait before the second restart in a row; each later one waits twice as long. The first one does not wait. */
const firstBackoffMs = 1000;
const maxStopMs = 1000;

/**
 * Supervises a model in an engine process. When the process crashes or hangs, its requests fail with ENGINE_CRASHED, and the
 * model is loaded in a new one: at once the first time, later with exponential backoff, not any more after three crashes
 * without a finished turn.
 */
export class Supervisor implements ModelSupervision, AsyncDisposable {
  readonly #options: SupervisorOptions;
  readonly #closing = new AbortController();
  /** Aborted when it is disposed of. */
  readonly closing: AbortSignal = this.#closing.signal;
  /** The model in its process, or its load; undefined when it could not be loaded or was given up. */
  #current: Promise<ModelProcess> | undefined;
  /** Of the last load: what is heard of an earlier process has no effect. */
  #loadNumber = 0;
  #wasLoaded = false;
  readonly #slowLoads = new Listeners();
  readonly onSlowLoad = this.#slowLoads.add;
  /** Of the current process, or the last one. */
  #latestStats = noStats;
  /** The counters of all processes that have ended. */
  #earlier: Pick<ModelStats, 'statesSaved' | 'statesRestored' | 'promptsRestored'> = noStats;
  /** Whether a process has crashed, and the next one has not told its statistics yet. */
  #hasCrashed = false;

  constructor(options: SupervisorOptions) {
    this.#options = options;
    // Each generation that waits adds a listener; Node warns of a leak above ten.
    setMaxListeners(0, this.closing);
  }

  get fault(): Fault | undefined {
    return this.#options.crashes.fault(this.#options.file);
  }

  /** The statistics of the model over all its processes: counters never fall. */
  get stats(): ModelStats {
    const [earlier, latest] = [this.#earlier, this.#latestStats];
    return {
      ...latest,
      statesSaved: earlier.statesSaved + latest.statesSaved,
      statesRestored: earlier.statesRestored + latest.statesRestored,
      promptsRestored: earlier.promptsRestored + latest.promptsRestored,
    };
  }

  turnFinished(): void {
    this.#options.crashes.reset(this.#options.file);
  }

  async restart(callbacks: LoadCallbacks): Promise<void> {
    if (!this.fault) return;
    this.#options.crashes.reset(this.#options.file);
    await this.start(callbacks);
  }

  /** Loads the model for the first time, or after it was given up. @throws Fault MODEL_LOAD_FAILED */
  async start(callbacks: LoadCallbacks): Promise<LoadedFacts> {
    // A crash may have started a load already.
    const load = (): Promise<ModelProcess> => this.#current ?? this.#track(this.#load(callbacks));
    try {
      const { facts } = await load().catch((error: unknown) => {
        // A process that was started before it was needed may have ended since.
        if (error instanceof UnreceivedRequest && !this.fault) return load();
        throw error;
      });
      return facts;
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
  async run<T>(work: (process: EngineProcess) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work((await this.#ready()).process);
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
    if (!model) return;
    await settledWithin(maxStopMs, model.process.request('stop', {}).result);
    await model.process.kill();
  }

  /** Loads the model in a process. Aborting ends the process. @throws Fault MODEL_LOAD_FAILED, ENGINE_CRASHED */
  async #load({ signal, onProgress }: LoadCallbacks): Promise<ModelProcess> {
    const { file, options, takeProcess, resizing } = this.#options;
    const loadNumber = ++this.#loadNumber;
    using abort = new EitherSignal([signal, this.closing]);
    if (abort.signal.aborted) throw cancelledFault(file);
    const process = takeProcess();
    process.listen({
      onStats: (stats) => this.#onStats(stats),
      resizing,
      onCrash: (end, isBlamed) => loadNumber === this.#loadNumber && this.#onCrash(end, isBlamed),
    });
    const loading = process.request('load', { file, options, isResizable: resizing !== undefined }, onProgress);
    try {
      const facts = await raceAbort(loading.result, abort.signal);
      abort.signal.throwIfAborted();
      this.#wasLoaded = true;
      return { process, facts };
    } catch (error) {
      const fault = abort.signal.aborted ? cancelledFault(file) : error;
      await process.kill();
      throw fault;
    }
  }

  #onStats(stats: ModelStats): void {
    this.#latestStats = stats;
    // A new process begins with the first number of slots.
    if (this.#hasCrashed) void this.#options.resizing?.requestMemory(totalMemory(stats.memory));
    this.#hasCrashed = false;
  }

  #onCrash(end: ProcessEnd, isBlamed: boolean): void {
    const { file, crashes, onCrash } = this.#options;
    const count = isBlamed ? crashes.add(file) : 0;
    this.#current = undefined;
    this.#hasCrashed = true;
    this.#earlier = this.stats;
    const { backend, slots, memory } = this.#latestStats;
    this.#latestStats = { ...noStats, backend, slots, memory };
    onCrash({ file, end, count });
    if (this.#wasLoaded && !this.closing.aborted && !this.fault)
      this.#track(this.#restart(count)).catch(() => undefined);
  }

  async #restart(count: number): Promise<ModelProcess> {
    if (count > 1) {
      await wait(firstBackoffMs * 2 ** (count - 2), undefined, { signal: this.closing });
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

export const cancelledFault = (file: string): Fault => new Fault('MODEL_LOAD_FAILED', `loading ${file} was cancelled`);

/** A failed first load: a crash is a fault of the file, or there is too little memory. */
export function toLoadFault(file: string, error: unknown): unknown {
  const crash = error instanceof UnreceivedRequest ? error.cause : error;
  if (!(crash instanceof EngineCrashedFault)) return crash;
  const hint =
    'the file is damaged, or its model needs more memory than there is; download it again, or use a smaller one';
  const message = `${file} cannot be loaded: the engine process ${crash.end.description}: ${hint}`;
  return new Fault('MODEL_LOAD_FAILED', message, { cause: error });
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
