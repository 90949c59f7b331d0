import { getLlama, type Llama, LlamaLogLevel } from 'node-llama-cpp';
import { describeError, type Fault } from '../../protocol/fault.ts';
import type { LoadOptions } from '../contract/engine.ts';
import type { Hardware } from '../contract/memory.ts';
import { freeMemory } from './contextMemory.ts';
import { assertBackend, cardsOf, toLibraryFault, unavailableBackendFault } from './libraryFault.ts';

type Gpu = LoadOptions['gpu'];

/** Unused instances without a card, for the next engine: to create one costs a process that tries the library. */
const idle = new Map<Gpu, Llama[]>();

/**
 * Pool of `Llama` instances (node-llama-cpp's handle of llama.cpp). Each loaded model has its own, because the number of
 * threads is a setting of the instance; a released instance is reused by the next model.
 */
export class LlamaInstancePool {
  readonly #all = new Map<Llama, Gpu>();
  readonly #used = new Set<Llama>();
  readonly #free = new Map<Gpu, Set<Promise<Llama>>>();
  readonly #gpuDevice: number | undefined;

  /** @param gpuDevice the card that the environment of this process shows; undefined: all of them. */
  constructor(gpuDevice?: number) {
    this.#gpuDevice = gpuDevice;
  }

  /** Creates an instance for the next `acquire`. @throws Fault MODEL_LOAD_FAILED without a usable library. */
  async prepare(gpu: Gpu): Promise<void> {
    const creating = this.#create(gpu);
    this.#freeOf(gpu).add(creating);
    try {
      await creating;
    } catch (error) {
      this.#freeOf(gpu).delete(creating);
      throw error;
    }
  }

  /** An unused or a new instance. @throws Fault MODEL_LOAD_FAILED without a usable llama.cpp library or backend. */
  async acquire(gpu: Gpu): Promise<Llama> {
    const free = this.#freeOf(gpu);
    const [first = this.#create(gpu)] = free;
    free.delete(first);
    const instance = await first;
    this.#used.add(instance);
    return instance;
  }

  release(gpu: Gpu, instance: Llama): void {
    this.#used.delete(instance);
    this.#freeOf(gpu).add(Promise.resolve(instance));
  }

  /** Reads what memory and cards there are now. */
  async readHardware(gpu: Gpu): Promise<Hardware> {
    const freeRam = freeMemory();
    try {
      const llama = await this.acquire(gpu);
      try {
        const names = await cardsOf(llama);
        if (names.length === 0) return { freeRam, card: undefined, problem: undefined };
        const { free: freeBytes, total: totalBytes } = await llama.getVramState();
        return { freeRam, card: { names, freeBytes, totalBytes }, problem: undefined };
      } finally {
        this.release(gpu, llama);
      }
    } catch (error) {
      return { freeRam, card: undefined, problem: describeError(error) };
    }
  }

  /** Disposes of the instances, except unused ones that hold no memory of a graphics card: these wait for the next engine. */
  async dispose(): Promise<void> {
    this.#free.clear();
    for (const [instance, gpu] of this.#all) {
      if (instance.gpu === false && !this.#used.has(instance)) idle.set(gpu, [...(idle.get(gpu) ?? []), instance]);
      else await instance.dispose();
    }
    this.#all.clear();
  }

  #freeOf(gpu: Gpu): Set<Promise<Llama>> {
    const free = this.#free.get(gpu) ?? new Set();
    this.#free.set(gpu, free);
    return free;
  }

  async #create(gpu: Gpu): Promise<Llama> {
    const instance = idle.get(gpu)?.pop() ?? (await openLibrary(gpu, this.#gpuDevice));
    this.#all.set(instance, gpu);
    await assertBackend(instance, gpu, this.#gpuDevice);
    return instance;
  }
}

const openLibrary = (gpu: Gpu, device: number | undefined): Promise<Llama> =>
  getLlama({
    // Never compiles llama.cpp and never downloads it: a missing library is an error.
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    gpu: gpu === 'off' ? false : gpu,
    // No limit: each batch sets its own number of threads.
    maxThreads: 0,
    logLevel: LlamaLogLevel.disabled,
  }).catch(async (error: unknown) => Promise.reject(await toFault(gpu, device, error)));

const toFault = (gpu: Gpu, device: number | undefined, cause: unknown): Promise<Fault> =>
  gpu === 'auto' || gpu === 'off' ? toLibraryFault(cause) : unavailableBackendFault(gpu, { cause, device });
