import { EngineCrashedFault, EngineProcess, type EngineProcessOptions, type ProcessListener } from './engineProcess.ts';
import { raceAbort } from '../../base/abort.ts';
import { Fault } from '../../protocol/fault.ts';
import type { LoadOptions } from '../contract/engine.ts';
import type { EngineRequests, LoadedFacts, PlainLoadOptions } from './messages.ts';
import { type EventOf, type RunningRequest, UnreceivedRequest } from './peer.ts';
import type { InferenceSchedule } from '../contract/pace.ts';
import type { SentSchedule } from './paces.ts';

/** What is loaded, where, and who is told about it. */
export interface ModelLoad extends ProcessListener {
  readonly file: string;
  readonly options: PlainLoadOptions;
  readonly host: ProcessHost;
  readonly signal: AbortSignal;
  readonly onProgress: LoadOptions['onProgress'];
}

/** The requests that concern the model. */
type ModelRequests = Omit<EngineRequests, 'prepare' | 'estimate' | 'load' | 'stateEvicted' | 'setPace'>;

const maxStopMs = 1000;

/** A model in its engine process, from its load to its unloading or the end of the process. */
export class ModelProcess {
  readonly facts: LoadedFacts;
  readonly #process: EngineProcess;

  private constructor(facts: LoadedFacts, process: EngineProcess) {
    this.facts = facts;
    this.#process = process;
  }

  /**
   * Loads a model in a process of the host. Aborting it ends the process.
   * @throws Fault MODEL_LOAD_FAILED, or ENGINE_CRASHED when the process crashes.
   */
  static async load(load: ModelLoad): Promise<ModelProcess> {
    const { file, options, host, signal, onProgress, resizing } = load;
    if (signal.aborted) throw cancelledFault(file);
    const process = host.acquire();
    process.listen(load);
    const request = process.request('load', { file, options, isResizable: resizing !== undefined }, onProgress);
    try {
      const facts = await raceAbort(request.result, signal);
      if (!signal.aborted) return new ModelProcess(facts, process);
    } catch (error) {
      if (!signal.aborted) {
        await process.kill();
        throw error;
      }
    }
    await process.kill();
    throw cancelledFault(file);
  }

  /** The schedule of a request that begins now. */
  schedule(schedule: InferenceSchedule): SentSchedule {
    return this.#process.paces.begin(schedule);
  }

  /** Sends a request about the model. */
  request<Name extends keyof ModelRequests & string>(
    name: Name,
    params: ModelRequests[Name]['params'],
    onEvent?: (event: EventOf<EngineRequests[Name]>) => void,
  ): RunningRequest<EngineRequests[Name]> {
    return this.#process.request(name, params, onEvent);
  }

  /** Ends the generations of the model, and its process. */
  async unload(): Promise<void> {
    await settledWithin(maxStopMs, this.request('stop', {}).result);
    await this.#process.kill();
  }
}

/** Waits until work has ended, with or without an error, for a limited time: in the library it may never end. */
export async function settledWithin(ms: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work.catch(() => undefined), timeout]);
  clearTimeout(timer);
}

const cancelledFault = (file: string): Fault => new Fault('MODEL_LOAD_FAILED', `loading ${file} was cancelled`);

/** A failed first load: a crash is a fault of the file, or there is too little memory. */
export function toLoadFault(file: string, error: unknown): unknown {
  const crash = error instanceof UnreceivedRequest ? error.cause : error;
  if (!(crash instanceof EngineCrashedFault)) return crash;
  const hint =
    'the file is damaged, or its model needs more memory than there is; download it again, or use a smaller one';
  const message = `${file} cannot be loaded: the engine process ${crash.end.description}: ${hint}`;
  return new Fault('MODEL_LOAD_FAILED', message, { cause: error });
}

/** Gives each model a process of its own to run in. */
export class ProcessHost implements AsyncDisposable {
  readonly #options: EngineProcessOptions;
  #spare: EngineProcess | undefined;

  constructor(options: EngineProcessOptions) {
    this.#options = options;
  }

  /** The process that the next model gets, unless it has ended by then; it is started if there is none. */
  prepare(): EngineProcess {
    if (!this.#spare?.alive) this.#spare = new EngineProcess(this.#options);
    return this.#spare;
  }

  /**
   * The process to load a model in, which the caller ends. @throws Fault MODEL_LOAD_FAILED when it cannot be started.
   */
  acquire(): EngineProcess {
    const spare = this.#spare;
    this.#spare = undefined;
    return spare?.alive ? spare : new EngineProcess(this.#options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#spare?.kill();
  }
}
