import { getLlama, type Llama, LlamaLogLevel } from 'node-llama-cpp';
import { describeError, type Fault } from '../../protocol/fault.ts';
import type { LoadOptions } from '../contract/engine.ts';
import { freeMemory } from './contextMemory.ts';
import { assertBackend, cardsOf, toLibraryFault, unavailableBackendFault } from './libraryFault.ts';

type Gpu = LoadOptions['gpu'];

/**
 * Instances without a graphics card that an engine left, for the next engine of this process. To create another would cost a
 * process, in which the library tries itself.
 */
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

  /**
   * Creates an instance for the next `acquire`, which waits for it if need be.
   * @throws Fault MODEL_LOAD_FAILED when the llama.cpp library or the backend is missing or cannot be loaded.
   */
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

  /**
   * An unused instance, or a new one with or without a GPU backend.
   * @throws Fault MODEL_LOAD_FAILED when the llama.cpp library or the backend is missing or cannot be loaded.
   */
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

/** Memory that models can use, as llama.cpp sees it. */
export interface Hardware {
  /** Free RAM in bytes. */
  readonly freeRam: number;
  /** The graphics cards together; undefined: llama.cpp sees none, or it is off. */
  readonly card:
    { readonly names: readonly string[]; readonly freeBytes: number; readonly totalBytes: number } | undefined;
  /** Why it is unknown whether there is a card. */
  readonly problem: string | undefined;
}

/** Reads what memory there is. */
export async function readHardware(gpu: LoadOptions['gpu']): Promise<Hardware> {
  const freeRam = freeMemory();
  const instances = new LlamaInstancePool();
  try {
    const llama = await instances.acquire(gpu);
    const names = await cardsOf(llama);
    if (names.length === 0) return { freeRam, card: undefined, problem: undefined };
    const { free: freeBytes, total: totalBytes } = await llama.getVramState();
    return { freeRam, card: { names, freeBytes, totalBytes }, problem: undefined };
  } catch (error) {
    return { freeRam, card: undefined, problem: describeError(error) };
  } finally {
    await instances.dispose();
  }
}
