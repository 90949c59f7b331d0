import type { Engine, LoadOptions, Model } from '../../contract/engine.ts';
import type { ModelStats } from '../../contract/memory.ts';
import { slowLoadMs } from '../../contract/pace.ts';
import { Fault } from '../../../protocol/fault.ts';
import {
  fileMissingFault,
  findOwnFiles,
  type Catalogue,
  type CatalogueEntry,
  unknownModel,
} from '../catalogue/catalogue.ts';
import { engineFor, loadOptionsFor, type PoolOptions } from './poolOptions.ts';
import { createLease, type ModelLease } from './lease.ts';
import { loadWithinBudget, type MemoryHold } from './memoryBudget.ts';
import { unloadBarrier, waitForLoad, type DownloadModel, type OnProgress, type LoadWait } from './loadWait.ts';
import {
  assertNotGivenUp,
  assertUnused,
  idleModels,
  modelState,
  unnamedEntry,
  type LoadedModel,
} from './loadedModel.ts';

/**
 * Model pool: loads each model once, shares it by reference counting, unloads it when it has been idle for `idleMs`.
 *
 * | state     | #loadedModels | model | uses | pinned | idleTimer | next state                                                 |
 * | --------- | ------------- | ----- | ---- | ------ | --------- | ---------------------------------------------------------- |
 * | absent    | no            |       |      |        |           | lease, pin: loading                                        |
 * | loading   | yes           | no    | > 0  | yes/no | no        | loaded: leased; failed: absent; no waiter left: unloading  |
 * | leased    | yes           | yes   | > 0  | yes/no | no        | last lease released: pinned or idle                        |
 * | pinned    | yes           | yes   | 0    | yes    | no        | lease: leased; unpin: unloading                            |
 * | idle      | yes           | yes   | 0    | no     | yes       | lease, pin: leased; timer, unpin, blockLoads: unloading    |
 * | unloading | no            |       |      |        |           | disposed: absent; until then #unloadBarrier delays loading |
 */
export class ModelPool implements AsyncDisposable {
  readonly catalogue: Catalogue;
  readonly #engine: Engine;
  readonly #options: PoolOptions;
  readonly #loadedModels = new Map<string, LoadedModel>();
  readonly #unloadBarrier = unloadBarrier();
  readonly #findFiles: NonNullable<PoolOptions['findFiles']>;

  constructor(engine: Engine, options: PoolOptions) {
    this.#engine = engine;
    this.#options = options;
    this.catalogue = options.catalogue;
    this.#findFiles = options.findFiles ?? findOwnFiles;
    options.budget?.addPool(() => idleModels(this.#loadedModels, (name, record) => this.#unload(name, record)));
  }

  /** Whether a model must be named. */
  get needsName(): boolean {
    return this.#options.needsName ?? this.#engine.needsFiles;
  }

  /** Names of the models that are loading. */
  get loading(): readonly string[] {
    return [...this.#loadedModels].filter(([, { model }]) => model === undefined).map(([name]) => name);
  }

  /** Entries of the catalogue, and those that models in memory were loaded with. */
  get entries(): readonly CatalogueEntry[] {
    const loaded = [...this.#loadedModels.values()].map(({ entry }) => entry);
    return [...new Set([...this.catalogue.models.values(), ...loaded])];
  }

  /**
   * Leases a model, and loads it first if it is not in memory; concurrent callers wait for the same load.
   * @throws Fault UNKNOWN_MODEL, MODEL_NOT_ON_DISK, or MODEL_LOAD_FAILED; the latter also when `wait.signal` is aborted.
   */
  lease(name: string, wait: LoadWait = {}): Promise<ModelLease> {
    return this.#acquire(name, wait, false);
  }

  /**
   * Loads a model and keeps it loaded until `unpin`, for all callers. An `unpin` or an aborted wait during the load wins.
   * @throws Fault as `lease`.
   */
  async pin(name: string, wait: Pick<LoadWait, 'onProgress' | 'signal'> = {}): Promise<void> {
    await using _ = await this.#acquire(name, wait, true);
  }

  async #acquire(name: string, wait: LoadWait, pin: boolean): Promise<ModelLease> {
    const entry = name === '' && !pin && !this.needsName ? unnamedEntry : this.entry(name);
    const { download, onWait } = wait;
    if (this.#engineFor(entry).needsFiles && download) await this.#ensureDownloaded(entry, download, onWait);
    const record = this.#findOrStartLoad(entry, pin);
    record.uses++;
    if (pin) record.pinned = true;
    clearTimeout(record.idleTimer);
    try {
      const model = await this.#waitUntilLoaded(name, record, wait);
      await assertNotGivenUp(model, pin, wait);
      return createLease(entry, model, () => this.#release(name, record));
    } catch (error) {
      if (pin) record.pinned = false;
      this.#release(name, record);
      throw error;
    }
  }

  /** Unpins a model: a leased one stays until its last lease is released, another is unloaded now. @throws Fault UNKNOWN_MODEL */
  async unpin(name: string): Promise<void> {
    const record = this.#loadedModels.get(name);
    if (!record || name === '') return void this.entry(name);
    record.pinned = false;
    if (record.uses === 0) await this.#unload(name, record);
  }

  /**
   * Unloads an idle model now, and delays new loads of it until the result is disposed of: for deletion of its files.
   * @throws Fault UNKNOWN_MODEL, MODEL_IN_USE
   */
  async blockLoads(name: string): Promise<Disposable> {
    const record = this.#loadedModels.get(name);
    if (record) assertUnused(name, record);
    else this.entry(name);
    const unloaded = record ? this.#unload(name, record) : this.#unloadBarrier.pending(name);
    const block = this.#unloadBarrier.block(name);
    try {
      await unloaded;
      return block;
    } catch (error) {
      block[Symbol.dispose]();
      throw error;
    }
  }

  /** State of a model now; a name that is not loaded, or unknown, gives the state of an absent model. */
  state(name: string): ReturnType<typeof modelState> {
    return modelState(this.#loadedModels.get(name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const [name, record] of this.#loadedModels) await this.#unload(name, record);
    const others = Object.values(this.#options.engines ?? {});
    await Promise.all([this.#engine, ...others].map((engine) => engine[Symbol.asyncDispose]()));
  }

  /** Catalogue entry of a model. @throws Fault UNKNOWN_MODEL */
  entry(name: string): CatalogueEntry {
    const entry = this.catalogue.models.get(name);
    if (entry) return entry;
    throw new Fault('UNKNOWN_MODEL', unknownModel(name, this.catalogue));
  }

  // Files that are being deleted still exist, so wait for the deletion before looking for them, and look again after it.
  async #ensureDownloaded(entry: CatalogueEntry, download: DownloadModel, onWait?: () => void): Promise<void> {
    const { name } = entry;
    do {
      if (this.#loadedModels.get(name)?.model) return;
      onWait?.();
      await this.#unloadBarrier.pending(name);
      if (!(await this.#findFiles(entry))) await download(entry);
    } while (this.#unloadBarrier.pending(name));
  }

  #findOrStartLoad(entry: CatalogueEntry, afterCrashes: boolean): LoadedModel {
    const existing = this.#loadedModels.get(entry.name);
    if (existing) return existing;
    const listeners = new Set<OnProgress>();
    const loadAbort = new AbortController();
    let tell = (): void => onProgress(0);
    const onProgress: OnProgress = (fraction) => (tell = () => listeners.forEach((listen) => listen(fraction)))();
    const timer = setInterval(() => tell(), slowLoadMs);
    const onHold = (hold: MemoryHold): void => void (record.hold = hold);
    const loading = this.#load(entry, { signal: loadAbort.signal, onProgress, afterCrashes }, onHold);
    const record: LoadedModel = { entry, loading, loadAbort, listeners, uses: 0, pinned: false, lastUse: 0 };
    this.#loadedModels.set(entry.name, record);
    loading
      .then(
        (model) => (record.model = model),
        () => this.#remove(entry.name, record),
      )
      .finally(() => clearInterval(timer));
    return record;
  }

  async #load(
    entry: CatalogueEntry,
    callbacks: Required<Pick<LoadOptions, 'signal' | 'onProgress' | 'afterCrashes'>>,
    onHold: (hold: MemoryHold) => void,
  ): Promise<Model> {
    const { budget, onResized, wrapLoad = (_, load) => load() } = this.#options;
    const pendingUnload = this.#unloadBarrier.pending(entry.name);
    if (pendingUnload) await pendingUnload;
    const engine = this.#engineFor(entry);
    const located = engine.needsFiles ? await this.#findFiles(entry) : { files: [''], loras: [] };
    const [file] = located?.files ?? [];
    if (!located || file === undefined) throw fileMissingFault(entry);
    const options: LoadOptions = { ...loadOptionsFor(entry, this.#options, located.loras), ...callbacks };
    const hooks = { onHold, onResized: (stats: ModelStats) => onResized?.(entry.name, stats) };
    const load = () => loadWithinBudget({ engine, file, options, budget, ...hooks });
    return wrapLoad(entry.name, load, callbacks.signal);
  }

  async #waitUntilLoaded(name: string, record: LoadedModel, { onProgress, onWait, signal }: LoadWait): Promise<Model> {
    if (record.model) return record.model;
    onWait?.();
    if (onProgress) record.listeners.add(onProgress);
    try {
      return await (signal ? waitForLoad(record.loading, name, signal) : record.loading);
    } finally {
      if (onProgress) record.listeners.delete(onProgress);
    }
  }

  #release(name: string, record: LoadedModel): void {
    record.uses--;
    record.lastUse = performance.now();
    if (record.uses > 0 || record.pinned) return;
    // The error is ignored: an unhandled rejection would end the process.
    const unload = (): void => void this.#unload(name, record).catch(() => undefined);
    if (record.model) record.idleTimer = setTimeout(unload, this.#options.idleMs).unref();
    else unload();
  }

  #engineFor = (entry: CatalogueEntry): Engine => engineFor(entry, this.#engine, this.#options);

  #remove(name: string, record: LoadedModel): void {
    if (this.#loadedModels.get(name) === record) this.#loadedModels.delete(name);
  }

  #unload(name: string, record: LoadedModel): Promise<void> {
    clearTimeout(record.idleTimer);
    this.#remove(name, record);
    // A load that completes in spite of the abort is disposed of, too.
    record.loadAbort.abort();
    record.hold?.expire();
    const dispose = async (): Promise<void> => {
      const model = await record.loading.catch(() => undefined);
      try {
        await model?.[Symbol.asyncDispose]();
      } finally {
        record.hold?.release();
      }
    };
    return this.#unloadBarrier.add(name, dispose());
  }
}
