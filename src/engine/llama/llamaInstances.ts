import { getLlama, LlamaLogLevel, type Llama } from 'node-llama-cpp';
import type { Fault } from '../../fault.ts';
import type { LoadOptions } from '../engine.ts';
import { assertBackend, unavailableBackendFault } from './gpuBackend.ts';
import { toLibraryFault } from './libraryFault.ts';

/**
 * Pool of `Llama` instances (node-llama-cpp's handle of llama.cpp). Each loaded model has its own, because the number of
 * threads is a setting of the instance; a released instance is reused by the next model.
 */
export class LlamaInstancePool {
  readonly #all: Llama[] = [];
  readonly #free = new Map<LoadOptions['gpu'], Set<Promise<Llama>>>();
  readonly #gpuDevice: number | undefined;

  /** @param gpuDevice the card that the environment of this process shows; undefined: all of them. */
  constructor(gpuDevice?: number) {
    this.#gpuDevice = gpuDevice;
  }

  /**
   * Creates an instance for the next `acquire`, which waits for it if need be.
   * @throws Fault MODEL_LOAD_FAILED when the llama.cpp library or the backend is missing or cannot be loaded.
   */
  async prepare(gpu: LoadOptions['gpu']): Promise<void> {
    const creating = this.#create(gpu);
    this.#freeOf(gpu).add(creating);
    try {
      await creating;
    } catch (error) {
      this.#freeOf(gpu).delete(creating);
      throw error;
    }
  }

  /**
   * An unused instance, or a new one with or without a GPU backend.
   * @throws Fault MODEL_LOAD_FAILED when the llama.cpp library or the backend is missing or cannot be loaded.
   */
  async acquire(gpu: LoadOptions['gpu']): Promise<Llama> {
    const free = this.#freeOf(gpu);
    const [instance] = free;
    if (!instance) return this.#create(gpu);
    free.delete(instance);
    return instance;
  }

  release(gpu: LoadOptions['gpu'], instance: Llama): void {
    this.#freeOf(gpu).add(Promise.resolve(instance));
  }

  async dispose(): Promise<void> {
    this.#free.clear();
    for (const instance of this.#all.splice(0)) await instance.dispose();
  }

  #freeOf(gpu: LoadOptions['gpu']): Set<Promise<Llama>> {
    const free = this.#free.get(gpu) ?? new Set();
    this.#free.set(gpu, free);
    return free;
  }

  async #create(gpu: LoadOptions['gpu']): Promise<Llama> {
    const instance = await getLlama({
      // Never compiles llama.cpp and never downloads it: a missing library is an error.
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      gpu: gpu === 'off' ? false : gpu,
      // No limit: each batch sets its own number of threads.
      maxThreads: 0,
      logLevel: LlamaLogLevel.disabled,
    }).catch(async (error: unknown) => Promise.reject(await toFault(gpu, error)));
    this.#all.push(instance);
    await assertBackend(instance, gpu, this.#gpuDevice);
    return instance;
  }
}

const toFault = (gpu: LoadOptions['gpu'], error: unknown): Promise<Fault> =>
  gpu === 'auto' || gpu === 'off' ? toLibraryFault(error) : unavailableBackendFault(gpu, error);
