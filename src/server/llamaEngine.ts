import type { ServerOptions } from './config.ts';
import type { Engine } from '../inference/contract/engine.ts';
import type { CacheFolderOptions } from '../inference/llama/cacheFiles.ts';
import { DiskQuota } from '../base/diskCache.ts';
import { LlamaServerEngine } from '../inference/llamaServer/engine.ts';
import { ProcessEngine, type ProcessEngineOptions } from '../inference/process/engine.ts';
import { defaultWatchdogLimits } from '../inference/process/watchdog.ts';
import { describeFsError } from '../base/filesystem.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from './metrics/metrics.ts';

const bytesPerMegabyte = 1_000_000;

/** The disk space of --cache-limit, which the KV states, the prompt cache and the vectors of storages share. */
export const cacheQuota = ({ cacheLimit }: Pick<ServerOptions, 'cacheLimit'>): DiskQuota =>
  new DiskQuota(cacheLimit * bytesPerMegabyte);

/** Creates the llama.cpp engine that the options choose, and reports its crashes and the states that it cannot write. */
export async function createLlamaEngine(
  options: ServerOptions,
  log: Log,
  metrics: Metrics,
  quota: DiskQuota = cacheQuota(options),
): Promise<Engine> {
  const { cache: folder, cacheLimit, engineProcess: mode, processPriority: priority, gpu, mockScript } = options;
  const gpuDevice = gpuDeviceOf(options);
  const cache: CacheFolderOptions = {
    folder,
    maxStateBytes: cacheLimit * bytesPerMegabyte,
    quota,
    onStateError(error) {
      metrics.add('turngraph_state_write_failures_total', {});
      log.warn({ cache: folder, reason: describeFsError(error) }, stateErrorMessage);
    },
  };
  if (mode === 'in') {
    if (priority !== 'normal') log.info({ processPriority: priority }, ownPriorityMessage);
    return engineInThisProcess(cache);
  }
  const engine = new ProcessEngine({
    cache,
    gpuDevice,
    priority,
    watchdog: { ...defaultWatchdogLimits, unmeasuredHangMs: options.loadTimeout * 1000 },
    ...processListeners(log, metrics),
  });
  // A server with a script is not going to use a model.
  if (mockScript === '' && options.llamaServer === '') engine.prepare(gpu);
  return engine;
}

const processListeners = (log: Log, metrics: Metrics): Required<Pick<ProcessEngineOptions, 'onStart' | 'onCrash'>> => ({
  onStart: (pid) => log.debug({ pid }, 'an engine process is started'),
  onCrash({ file, end, count }) {
    metrics.add('turngraph_engine_crashes_total', { reason: end.reason === 'hang' ? 'hang' : 'crash' });
    log.error({ model: file, reason: end.description, crashes: count }, 'an engine process has crashed');
  },
});

/** Creates the engine of models in llama-server, and reports its crashes. */
export const createLlamaServerEngine = ({ llamaServer }: ServerOptions, log: Log, metrics: Metrics): Engine =>
  new LlamaServerEngine({ binary: llamaServer || 'llama-server', ...processListeners(log, metrics) });

/** Creates the llama.cpp engine of a command without a server, where --engine-process has it. It writes nothing to disk. */
export async function createUncachedLlamaEngine(options: ProcessOptions): Promise<Engine> {
  const gpuDevice = gpuDeviceOf(options);
  return options.engineProcess === 'in' ? engineInThisProcess() : new ProcessEngine({ gpuDevice });
}

type ProcessOptions = Pick<ServerOptions, 'engineProcess' | 'gpuDevice'>;

/** @throws when the models have no process of their own, whose environment could name the card. */
function gpuDeviceOf({ gpuDevice, engineProcess }: ProcessOptions): number | undefined {
  if (gpuDevice < 0) return undefined;
  if (engineProcess === 'child') return gpuDevice;
  throw new Error(
    `--gpu-device ${gpuDevice} needs --engine-process child, not ${engineProcess}: ` +
      'the card is chosen by the environment of the process of a model',
  );
}

// Imported on demand: it loads the library, which a process with engine processes does not use itself.
async function engineInThisProcess(cache?: CacheFolderOptions): Promise<Engine> {
  const { llamaEngine } = await import('../inference/llama/engine.ts');
  return llamaEngine(cache);
}

const ownPriorityMessage = '--process-priority has no effect: the models run in the process of the server';
const stateErrorMessage = 'a KV state could not be saved: its conversation is evaluated again when it continues';
