import { getLlama, LlamaLogLevel, type Llama } from 'node-llama-cpp';
import type { LoadOptions } from '../engine.ts';

/**
 * The handles of llama.cpp: one for each model in memory, because the number of threads is a setting of the handle. A
 * handle whose model has gone serves the next one.
 */
export class LlamaInstancePool {
  readonly #all: Llama[] = [];
  readonly #free = new Map<LoadOptions['gpu'], Llama[]>();

  async acquire(gpu: LoadOptions['gpu']): Promise<Llama> {
    const free = this.#free.get(gpu)?.pop();
    if (free) return free;
    const library = await getLlama({
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      gpu: gpu === 'off' ? false : 'auto',
      // No more than the contexts ask for; each batch says how many it wants.
      maxThreads: 0,
      logLevel: LlamaLogLevel.disabled,
    });
    this.#all.push(library);
    return library;
  }

  release(gpu: LoadOptions['gpu'], library: Llama): void {
    this.#free.set(gpu, [...(this.#free.get(gpu) ?? []), library]);
  }

  async dispose(): Promise<void> {
    this.#free.clear();
    for (const library of this.#all.splice(0)) await library.dispose();
  }
}
