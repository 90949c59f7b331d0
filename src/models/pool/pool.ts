import type { Engine, LoadOptions, Model, SamplingParams } from '../../engine/engine.ts';
import { Fault } from '../../fault.ts';
import { fileMissingFault, findLocalModelFile, type Catalogue, type CatalogueEntry } from '../catalogue/catalogue.ts';
import { defaultSampling } from '../catalogue/sampling.ts';
import { unknownModel } from '../catalogue/unknownModel.ts';
import { UnloadBarrier } from './unloadBarrier.ts';
import { assertUnused, modelState, type ModelState, type LoadedModel } from './loadedModel.ts';
import { waitForLoad, type DownloadModel, type OnProgress, type LoadWait } from './loadWait.ts';

/** A loaded model in somebody's use; disposing of it gives it back. */
export interface ModelLease extends AsyncDisposable {
  readonly name: string;
  readonly model: Model;
  readonly defaultSampling: SamplingParams;
  /** The format that the catalogue gives the model; "" = none. */
  readonly toolCallFormat: string;
}

// An engine without files can do without a name.
const unnamedEntry: CatalogueEntry = {
  name: '',
  description: '',
  tool_call_format: '',
  default_sampling: {},
  variants: [],
  file: undefined,
};

export interface PoolOptions extends Pick<LoadOptions, 'slots' | 'threads' | 'gpu'> {
  readonly catalogue: Catalogue;
  /** Whether a model must be named; default: where the engine's models are files. */
  readonly needsName?: boolean;
  /** Milliseconds that an unpinned model stays in memory after its last use. */
  readonly idleMs: number;
  /** The file of a model, if it is on disk; default: the user's own, if it is one. */
  readonly findFile?: (entry: CatalogueEntry) => Promise<string | undefined>;
  /** Does each load, and gives the model that is handed out; default: the load and nothing else. */
  readonly wrapLoad?: (name: string, load: () => Promise<Model>) => Promise<Model>;
}

/** The models of the server: each loaded once, shared, counted, and freed when nobody has used it for a while. */
export class ModelPool implements AsyncDisposable {
  readonly #engine: Engine;
  readonly #options: PoolOptions;
  readonly #loadedModels = new Map<string, LoadedModel>();
  readonly #unloadBarrier = new UnloadBarrier();

  constructor(engine: Engine, options: PoolOptions) {
    this.#engine = engine;
    this.#options = options;
  }

  /** Whether a model must be named: an engine without files usually needs none. */
  get needsName(): boolean {
    return this.#options.needsName ?? this.#engine.needsFiles;
  }

  /** Names of the models that are being loaded. */
  get loading(): readonly string[] {
    return [...this.#loadedModels].filter(([, { model }]) => model === undefined).map(([name]) => name);
  }

  get catalogue(): Catalogue {
    return this.#options.catalogue;
  }

  /**
   * Takes a model into use, loading it if it is not in memory; who asks meanwhile waits for the same load.
   * @throws Fault UNKNOWN_MODEL, MODEL_NOT_ON_DISK, or MODEL_LOAD_FAILED, also when the wait was ended.
   */
  lease(name: string, waiting: LoadWait = {}): Promise<ModelLease> {
    return this.#acquire(name, waiting, false);
  }

  /** Loads a model and keeps it until it is unpinned, whoever asked for it; an unpin, or an end of the wait, before wins. */
  async pin(name: string, waiting: Pick<LoadWait, 'onProgress' | 'signal'> = {}): Promise<void> {
    await using _ = await this.#acquire(name, waiting, true);
  }

  async #acquire(name: string, waiting: LoadWait, toStay: boolean): Promise<ModelLease> {
    const entry = this.entry(name);
    if (this.#engine.needsFiles && waiting.download)
      await this.#ensureDownloaded(entry, waiting.download, waiting.onWait);
    const slot = this.#findOrStartLoad(entry);
    slot.uses++;
    if (toStay) slot.pinned = true;
    clearTimeout(slot.idleTimer);
    try {
      const model = await this.#waitUntilLoaded(name, slot, waiting);
      return this.#createLease(entry, slot, model);
    } catch (error) {
      if (toStay) slot.pinned = false;
      this.#release(name, slot);
      throw error;
    }
  }

  /** Takes the pin off: a model in use stays until its last user goes, another is freed now. */
  async unpin(name: string): Promise<void> {
    this.entry(name);
    const slot = this.#loadedModels.get(name);
    if (!slot) return;
    slot.pinned = false;
    if (slot.uses === 0) await this.#unload(name, slot);
  }

  /** Frees a model that nobody uses, before its time; until the hold is disposed of, loads wait. @throws Fault MODEL_IN_USE */
  async blockLoads(name: string): Promise<Disposable> {
    const slot = this.#loadedModels.get(this.entry(name).name);
    if (slot) assertUnused(name, slot);
    const left = slot ? this.#unload(name, slot) : this.#unloadBarrier.pending(name);
    const hold = this.#unloadBarrier.block(name);
    try {
      await left;
      return hold;
    } catch (error) {
      hold[Symbol.dispose]();
      throw error;
    }
  }

  state(name: string): ModelState {
    return modelState(this.#loadedModels.get(name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const [name, slot] of this.#loadedModels) await this.#unload(name, slot);
    await this.#engine[Symbol.asyncDispose]();
  }

  /** What the catalogue says of a model. @throws Fault UNKNOWN_MODEL */
  entry(name: string): CatalogueEntry {
    const { models } = this.#options.catalogue;
    const entry = models.get(name);
    if (entry) return entry;
    if (name === '' && !this.needsName) return unnamedEntry;
    throw new Fault('UNKNOWN_MODEL', unknownModel(name, models));
  }

  // What is being deleted counts as there until it is gone, so that is waited for first.
  async #ensureDownloaded(entry: CatalogueEntry, fetch: DownloadModel, onWait?: () => void): Promise<void> {
    const { name } = entry;
    do {
      if (this.#loadedModels.get(name)?.model) return;
      onWait?.();
      await this.#unloadBarrier.pending(name);
      if (!(await this.#findFile(entry))) await fetch(entry);
    } while (this.#unloadBarrier.pending(name));
  }

  #findOrStartLoad(entry: CatalogueEntry): LoadedModel {
    const known = this.#loadedModels.get(entry.name);
    if (known) return known;
    const listeners = new Set<OnProgress>();
    const stop = new AbortController();
    const onProgress: OnProgress = (fraction) => listeners.forEach((listen) => listen(fraction));
    const loading = this.#load(entry, { onProgress, signal: stop.signal });
    const slot: LoadedModel = {
      loading,
      loadAbort: stop,
      listeners,
      model: undefined,
      uses: 0,
      pinned: false,
      idleTimer: undefined,
    };
    this.#loadedModels.set(entry.name, slot);
    loading.then(
      (model) => (slot.model = model),
      () => this.#remove(entry.name, slot),
    );
    return slot;
  }

  async #load(entry: CatalogueEntry, loading: Pick<LoadOptions, 'onProgress' | 'signal'>): Promise<Model> {
    const { slots, threads, gpu, wrapLoad: loads = (_, load) => load() } = this.#options;
    const { context_size: contextSize = 0, kv_cache_type: kvCacheType = 'f16' } = entry.variants[0] ?? {};
    const left = this.#unloadBarrier.pending(entry.name);
    if (left) await left;
    const file = this.#engine.needsFiles ? await this.#requireFile(entry) : '';
    return loads(entry.name, () =>
      this.#engine.load(file, { contextSize, kvCacheType, slots, threads, gpu, ...loading }),
    );
  }

  async #waitUntilLoaded(name: string, slot: LoadedModel, { onProgress, onWait, signal }: LoadWait): Promise<Model> {
    if (slot.model) return slot.model;
    onWait?.();
    if (onProgress) slot.listeners.add(onProgress);
    try {
      return await (signal ? waitForLoad(slot.loading, name, signal) : slot.loading);
    } finally {
      if (onProgress) slot.listeners.delete(onProgress);
    }
  }

  #createLease(entry: CatalogueEntry, slot: LoadedModel, model: Model): ModelLease {
    let given = false;
    return {
      name: entry.name,
      model,
      defaultSampling: { ...defaultSampling, ...entry.default_sampling },
      toolCallFormat: entry.tool_call_format,
      [Symbol.asyncDispose]: async () => {
        if (given) return;
        given = true;
        this.#release(entry.name, slot);
      },
    };
  }

  #release(name: string, slot: LoadedModel): void {
    slot.uses--;
    if (slot.uses > 0 || slot.pinned) return;
    // A model that cannot be freed is no reason to end the process; its memory goes with it.
    const free = (): void => void this.#unload(name, slot).catch(() => undefined);
    if (slot.model) slot.idleTimer = setTimeout(free, this.#options.idleMs).unref();
    else free();
  }

  #findFile(entry: CatalogueEntry): Promise<string | undefined> {
    return (this.#options.findFile ?? findLocalModelFile)(entry);
  }

  async #requireFile(entry: CatalogueEntry): Promise<string> {
    const file = await this.#findFile(entry);
    if (file !== undefined) return file;
    throw fileMissingFault(entry);
  }

  #remove(name: string, slot: LoadedModel): void {
    if (this.#loadedModels.get(name) === slot) this.#loadedModels.delete(name);
  }

  #unload(name: string, slot: LoadedModel): Promise<void> {
    clearTimeout(slot.idleTimer);
    this.#remove(name, slot);
    // A load that is stopped too late still has to be undone.
    slot.loadAbort.abort();
    const freed = async (): Promise<void> => (await slot.loading.catch(() => undefined))?.[Symbol.asyncDispose]();
    return this.#unloadBarrier.add(name, freed());
  }
}
