import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { EitherSignal, raceAbort } from '../../base/abort.ts';
import { describeError, Fault } from '../../protocol/fault.ts';
import type { Engine, LoadOptions, Model } from '../contract/engine.ts';
import type { LoadPlan } from '../contract/memory.ts';
import { type ModelSupervision, splitFileNames } from '../contract/model.ts';
import { Listeners, slowLoadMs } from '../contract/pace.ts';
import type { ProcessEngineOptions } from '../process/engine.ts';
import { CrashCounts } from '../process/supervisor.ts';
import { defaultTimeouts } from '../remote/connection/httpConnection.ts';
import { ServerProcess } from './serverProcess.ts';

/** Options of the engine that runs models in llama-server. */
export interface LlamaServerOptions extends Pick<ProcessEngineOptions, 'onStart' | 'onCrash'> {
  /** Path of the binary, or its name on the PATH. */
  readonly binary: string;
}

const defaultSlots = 4;
const defaultContextSize = 8192;
const firstBackoffMs = 1000;

/** Runs each model in a llama-server of its own, which it starts and supervises. */
export class LlamaServerEngine implements Engine {
  readonly name = 'llama-server';
  readonly needsFiles = true;
  readonly #options: LlamaServerOptions;
  readonly #crashes = new CrashCounts();
  readonly #closing = new AbortController();
  /** Models, and processes in which one is being loaded. */
  readonly #open = new Set<AsyncDisposable>();

  constructor(options: LlamaServerOptions) {
    this.#options = options;
  }

  estimate(file: string, options: LoadOptions): Promise<LoadPlan> {
    return planOf(file, options);
  }

  async load(file: string, options: LoadOptions): Promise<Model> {
    if (options.purpose === 'embedding')
      throw new Fault('MODEL_LOAD_FAILED', 'the llama-server engine computes no embeddings: use the engine llama-cpp');
    if (options.afterCrashes) this.#crashes.reset(file);
    const given = this.#crashes.fault(file);
    if (given) throw given;
    using abort = new EitherSignal([options.signal, this.#closing.signal]);
    const { signal } = abort;
    const plan = await planOf(file, options);
    const server = await ServerProcess.start({
      binary: this.#options.binary,
      args: argumentsFor(file, options, plan),
      onStart: (pid) => this.#options.onStart?.(pid),
      onCrash: (end) => {
        const count = this.#crashes.add(file);
        this.#options.onCrash?.({ file, end, count });
        return this.#crashes.fault(file) ?? (count > 1 ? firstBackoffMs * 2 ** (count - 2) : 0);
      },
    });
    this.#open.add(server);
    try {
      await server.ready(signal);
      const { loadRemoteModel } = await import('../remote/loadRemoteModel.ts');
      const remote = { api: 'llama-server', baseUrls: [server.url], apiKeyEnv: keyName } as const;
      const model = await loadRemoteModel(
        { ...remote, model: undefined, templateFile: undefined },
        {
          contextSize: plan.contextSize,
          slots: 0,
          signal,
          timeouts: defaultTimeouts,
          environment: { [keyName]: server.key },
          own: { ready: (waiting) => server.ready(waiting), memory: plan, supervision: this.#supervise(file, server) },
          onClose: async (closed) => {
            this.#open.delete(closed);
            await server[Symbol.asyncDispose]();
          },
        },
      );
      this.#open.add(model);
      options.onProgress?.(1);
      return model;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      const why = signal.aborted ? 'it was cancelled' : describeError(error);
      throw new Fault('MODEL_LOAD_FAILED', `${file} cannot be loaded in a llama-server: ${why}`, { cause: error });
    } finally {
      this.#open.delete(server);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await Promise.all([...this.#open].map((open) => open[Symbol.asyncDispose]()));
  }

  #supervise(file: string, server: ServerProcess): ModelSupervision {
    const crashes = this.#crashes;
    const slowLoads = new Listeners();
    return {
      get fault() {
        return crashes.fault(file);
      },
      async restart({ signal }) {
        crashes.reset(file);
        const timer = setInterval(() => slowLoads.call(), slowLoadMs);
        await raceAbort(server.restart(), signal).finally(() => clearInterval(timer));
      },
      turnFinished: () => crashes.reset(file),
      onSlowLoad: slowLoads.add,
    };
  }
}

const keyName = 'LLAMA_API_KEY';

/** The slots of a model, the context of each, and what that takes by the model's file. */
async function planOf(file: string, { contextSize, slots, kvCacheType = 'f16' }: LoadOptions): Promise<LoadPlan> {
  // Imported on demand: it loads the library, of which a server without such models needs nothing.
  const { readKvCacheShape } = await import('../llama/gguf/metadata.ts');
  const shape = await readKvCacheShape(file);
  const tokens = contextSize || Math.min(defaultContextSize, shape?.trainedContext ?? Infinity);
  const count = slots || defaultSlots;
  const slotBytes = tokens * (shape?.bytesPerToken ?? 0) * kvCacheShares[kvCacheType];
  const parts = splitFileNames(basename(file)).map((name) => stat(join(dirname(file), name)));
  const weights = (await Promise.all(parts)).reduce((sum, { size }) => sum + size, 0);
  return {
    slots: count,
    contextSize: tokens,
    weights: { ram: weights, vram: 0 },
    context: { ram: slotBytes * count, vram: 0 },
    slot: { ram: slotBytes, vram: 0 },
  };
}

/** How much of an f16 KV cache the others take. */
const kvCacheShares = { f16: 1, q8_0: 17 / 32, q4_0: 9 / 32 };

function argumentsFor(file: string, options: LoadOptions, { slots, contextSize }: LoadPlan): readonly string[] {
  const { threads, gpu, gpuLayers = 'auto', kvCacheType = 'f16', loras = [], serverArgs = [] } = options;
  return [
    '--no-webui',
    ...Object.entries({ model: file, parallel: slots, 'ctx-size': contextSize * slots }).flatMap(([name, value]) => [
      `--${name}`,
      String(value),
    ]),
    ...(threads > 0 ? ['--threads', String(threads)] : []),
    ...(gpu === 'off' ? ['--device', 'none'] : []),
    ...(gpuLayers === 'auto' ? [] : ['--n-gpu-layers', String(gpuLayers)]),
    ...(kvCacheType === 'f16' ? [] : ['--cache-type-k', kvCacheType, '--cache-type-v', kvCacheType]),
    ...loras.flatMap((lora) => ['--lora-scaled', `${lora.file}:${lora.scale}`]),
    ...serverArgs,
  ];
}
