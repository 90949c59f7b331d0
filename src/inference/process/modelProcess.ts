import { raceAbort } from '../../base/abort.ts';
import { Fault } from '../../protocol/fault.ts';
import type { LoadOptions } from '../contract/engine.ts';
import { EngineCrashedFault, type EngineProcess, type OnProcessEnd, type ProcessEnd } from './engineProcess.ts';
import type { EngineRequests, LoadedFacts, PlainLoadOptions } from './messages.ts';
import type { ModelListener } from './modelListeners.ts';
import { UnreceivedRequest, type EventOf, type RunningRequest } from './peer.ts';
import type { InferenceSchedule } from '../contract/pace.ts';
import type { ProcessHost } from './processHost.ts';
import type { SentSchedule } from './sentPaces.ts';

/** What is loaded, where, and who is told about it. */
export interface ModelLoad extends ModelListener {
  readonly file: string;
  readonly options: PlainLoadOptions;
  readonly host: ProcessHost;
  readonly signal: AbortSignal;
  readonly onProgress: LoadOptions['onProgress'];
  /** The process has crashed or hung. `isBlamed` is false when only requests of other models were pending. */
  readonly onCrash: (end: ProcessEnd, isBlamed: boolean) => void;
}

/** The requests that concern one model. */
type ModelRequests = Omit<EngineRequests, 'prepare' | 'estimate' | 'load' | 'stateEvicted' | 'setPace'>;

type WithoutModel<Params> = Params extends unknown ? Omit<Params, 'model'> : never;

const maxStopMs = 1000;
const maxUnloadMs = 5000;

/** A model in one engine process, from its load to its unloading or the end of the process. */
export class ModelProcess {
  readonly facts: LoadedFacts;
  readonly #process: EngineProcess;
  readonly #id: number;
  readonly #release: () => Promise<void> | undefined;

  private constructor(
    facts: LoadedFacts,
    process: EngineProcess,
    id: number,
    release: () => Promise<void> | undefined,
  ) {
    this.facts = facts;
    this.#process = process;
    this.#id = id;
    this.#release = release;
  }

  /**
   * Loads a model in a process of the host. Aborting it ends a process that no other model uses.
   * @throws Fault MODEL_LOAD_FAILED, or ENGINE_CRASHED when the process crashes.
   */
  static async load(load: ModelLoad): Promise<ModelProcess> {
    const { file, options, host, signal, onProgress, onCrash } = load;
    if (signal.aborted) throw cancelledFault(file);
    const process = host.acquire();
    let isReleased = false;
    const onEnd: OnProcessEnd = (end, busyModels) => {
      if (!isReleased && end.reason !== 'killed') onCrash(end, busyModels.size === 0 || busyModels.has(id));
    };
    const id = process.addModel(load, onEnd);
    const release = (): Promise<void> | undefined => {
      if (isReleased) return undefined;
      isReleased = true;
      process.removeModel(id, onEnd);
      return host.release(process) ? process.kill() : undefined;
    };
    const isResizable = load.resizing !== undefined;
    const request = process.request('load', { model: id, file, options, isResizable }, onProgress);
    const loading = request.result.then((facts) => new ModelProcess(facts, process, id, release));
    const abort = (): void => {
      request.control('abort');
      void release();
    };
    signal.addEventListener('abort', abort);
    try {
      const loaded = await raceAbort(loading, signal);
      if (!signal.aborted) return loaded;
    } catch (error) {
      if (!signal.aborted) {
        await release();
        throw error;
      }
    } finally {
      signal.removeEventListener('abort', abort);
    }
    // It may be loaded in spite of the abort.
    await settledWithin(
      maxUnloadMs,
      loading.then((loaded) => loaded.unload()),
    );
    throw cancelledFault(file);
  }

  /** The schedule of a request that begins now. */
  schedule(schedule: InferenceSchedule): SentSchedule {
    return this.#process.paces.begin(schedule);
  }

  /** Sends a request about this model. */
  request<Name extends keyof ModelRequests & string>(
    name: Name,
    params: WithoutModel<ModelRequests[Name]['params']>,
    onEvent?: (event: EventOf<EngineRequests[Name]>) => void,
  ): RunningRequest<EngineRequests[Name]> {
    const ownParams = { ...params, model: this.#id } as EngineRequests[Name]['params'];
    return this.#process.request(name, ownParams, onEvent);
  }

  /** Ends the generations of the model and frees its memory. */
  async unload(): Promise<void> {
    await settledWithin(maxStopMs, this.request('stop', {}).result);
    const killed = this.#release();
    await (killed ?? settledWithin(maxUnloadMs, this.request('unload', {}).result));
  }
}

/** Waits until work has ended, with or without an error, for a limited time: in the library it may never end. */
async function settledWithin(ms: number, work: Promise<unknown>): Promise<void> {
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
