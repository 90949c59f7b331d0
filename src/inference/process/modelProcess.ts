import { EngineCrashedFault, EngineProcess, type EngineProcessOptions, type ProcessListener } from './engineProcess.ts';
import { raceAbort, settledWithin } from '../../base/abort.ts';
import { Fault } from '../../protocol/fault.ts';
import type { LoadOptions } from '../contract/engine.ts';
import type { LoadedFacts, PlainLoadOptions } from './messages.ts';
import { UnreceivedRequest } from './peer.ts';
import type { InferenceSchedule } from '../contract/pace.ts';
import type { SentSchedule } from './paces.ts';

export interface ModelLoad extends ProcessListener {
  readonly file: string;
  readonly options: PlainLoadOptions;
  readonly host: ProcessHost;
  readonly signal: AbortSignal;
  readonly onProgress: LoadOptions['onProgress'];
}

const maxStopMs = 1000;

/** A model in its engine process, from its load to its unloading or the end of the process. */
export interface ModelProcess {
  readonly facts: LoadedFacts;
  /** The schedule of a request that begins now. */
  schedule(schedule: InferenceSchedule): SentSchedule;
  /** Sends a request about the model. */
  readonly request: EngineProcess['request'];
  /** Ends the generations of the model, and its process. */
  unload(): Promise<void>;
}

/** Loads a model in a process. Aborting ends the process. @throws Fault MODEL_LOAD_FAILED, ENGINE_CRASHED */
export async function loadInProcess(load: ModelLoad): Promise<ModelProcess> {
  const { file, options, host, signal, onProgress, resizing } = load;
  if (signal.aborted) throw cancelledFault(file);
  const process = host.acquire();
  process.listen(load);
  const loading = process.request('load', { file, options, isResizable: resizing !== undefined }, onProgress);
  try {
    const facts = await raceAbort(loading.result, signal);
    signal.throwIfAborted();
    return {
      facts,
      schedule: (schedule) => process.paces.begin(schedule),
      request: (...given) => process.request(...given),
      async unload() {
        await settledWithin(maxStopMs, process.request('stop', {}).result);
        await process.kill();
      },
    };
  } catch (error) {
    const fault = signal.aborted ? cancelledFault(file) : error;
    await process.kill();
    throw fault;
  }
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
export type ProcessHost = ReturnType<typeof processHost>;

/** Creates the host of the processes of an engine. */
export function processHost(options: EngineProcessOptions) {
  let spare: EngineProcess | undefined;
  return {
    /** The process that the next model gets, unless it has ended by then; it is started if there is none. */
    prepare: () => (spare?.alive ? spare : (spare = new EngineProcess(options))),
    /** The process to load a model in, which the caller ends. @throws Fault MODEL_LOAD_FAILED when it cannot be started. */
    acquire(): EngineProcess {
      const prepared = spare;
      spare = undefined;
      return prepared?.alive ? prepared : new EngineProcess(options);
    },
    [Symbol.asyncDispose]: async () => spare?.kill(),
  };
}
