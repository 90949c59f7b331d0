import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../fault.ts';
import { fileSize } from './disk/modelFile.ts';
import { locateModel, isComplete, targetsOrEmpty, type LocatedModel, type SearchPaths } from './locate.ts';
import { cacheFolder, readHubSettings, type Environment } from './hub/endpoint.ts';
import { SharedDownload, type SubscribeOptions, type Downloaded } from './sharedDownload.ts';
import { DownloadManifest } from './disk/manifest.ts';
import { isLocked } from './disk/lockFile.ts';
import { partialPath } from './disk/partialFile.ts';
import type { RetryPolicy } from './retry.ts';
import { progressOf } from './progress.ts';
import { remove, type RemoveOptions } from './remove.ts';
import { systemFreeBytes, downloadFiles, type FreeBytes, type DownloadJob } from './downloadModel.ts';
import { toDownloadFault } from './toFault.ts';
import { verify, type Verified } from './verify.ts';
import { targetsOf, type ModelSource } from './target.ts';

/** Where a model is: nowhere, on its way, in the models folder or the hub's cache, or in the user's own folder. */
export type DownloadStatus = 'ABSENT' | 'DOWNLOADING' | 'DOWNLOADED' | 'LOCAL';

/** How downloads are made; what is absent is as usual. */
export interface DownloadOptions extends Partial<RetryPolicy> {
  /** HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE, HF_HOME and HF_HUB_CACHE; default: those of the process. */
  readonly env?: Environment;
  readonly freeBytes?: FreeBytes;
}

const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 6,
  stallMs: 30_000,
  maxWaitMs: 300_000,
  wait: async (ms, signal) => void (await sleep(ms, undefined, { signal })),
};

type Removal = Pick<RemoveOptions, 'signal' | 'releaseModels'>;

/** The downloads of a models folder: one of each model at a time, whoever asks for it. */
export class Downloads implements AsyncDisposable {
  readonly #env: Environment;
  readonly #policy: RetryPolicy;
  readonly #freeBytes: FreeBytes;
  readonly #places: SearchPaths;
  readonly #running = new Map<string, SharedDownload>();
  #closed = false;

  constructor(folder: string, { env = process.env, freeBytes = systemFreeBytes, ...policy }: DownloadOptions = {}) {
    this.#env = env;
    this.#policy = { ...defaultRetryPolicy, ...policy };
    this.#freeBytes = freeBytes;
    this.#places = { folder, cache: cacheFolder(env), manifest: new DownloadManifest(folder) };
  }

  /**
   * Downloads a model for an owner, or waits with others for the download that is going on; one that is on disk is done.
   * @throws Fault DOWNLOAD_ALREADY_ACTIVE when the owner waits for it already, and 6001 to 6005 and 6011 as it ends.
   */
  async start(source: ModelSource, owner: object, options: SubscribeOptions = {}): Promise<Downloaded> {
    if (this.#closed) throw new Fault('SERVER_SHUTTING_DOWN', 'no download is started any more');
    const { name } = source;
    const key = filesKey(source);
    const before = this.#running.get(key);
    if (before?.has(owner)) throw new Fault('DOWNLOAD_ALREADY_ACTIVE', `you are downloading "${name}" already`);
    if (before && !before.stopping) return before.join(name, owner, options);
    const joined = new SharedDownload(async (tell, trouble, signal) => {
      await before?.ended;
      const found = await this.#locate(source);
      if (!found) return this.#fetch(source, { onProgress: tell, onRetry: trouble }, signal);
      tell(progressOf(found.bytes, found.bytes));
      return found.bytes;
    });
    this.#running.set(key, joined);
    void joined.ended.then(() => this.#running.get(key) === joined && this.#running.delete(key));
    return joined.join(name, owner, options);
  }

  /** Ends an owner's waiting for a model; the download goes on while others wait. Returns whether there was one. */
  cancel(name: string, owner: object): boolean {
    const waited = [...this.#running.values()].filter((joined) => joined.has(owner, name));
    for (const joined of waited) joined.leave(owner);
    return waited.length > 0;
  }

  /** Where a model is now. */
  async statusOf(source: ModelSource): Promise<DownloadStatus> {
    const found = await this.#locate(source);
    if (found) return found.source === 'own' ? 'LOCAL' : 'DOWNLOADED';
    const targets = targetsOrEmpty(source, this.#places.folder);
    const locked = await Promise.all(targets.map(({ path }) => isLocked(path)));
    return this.#running.has(filesKey(source)) || locked.includes(true) ? 'DOWNLOADING' : 'ABSENT';
  }

  /** The file to load, if all files of the model are on disk. */
  async fileOf(source: ModelSource): Promise<string | undefined> {
    return (await this.#locate(source))?.files[0];
  }

  /** Bytes of a model's files on disk. */
  async bytesOf(source: ModelSource): Promise<number | undefined> {
    return (await this.#locate(source))?.bytes;
  }

  /** Bytes of an unfinished download, from which the next one goes on. */
  async bytesKept(source: ModelSource): Promise<number> {
    const targets = targetsOrEmpty(source, this.#places.folder);
    const sizes = await Promise.all(
      targets.map(async ({ path }) => (await fileSize(path)) ?? (await fileSize(partialPath(path)))),
    );
    return sizes.reduce<number>((sum, bytes = 0) => sum + bytes, 0);
  }

  /** Deletes what was downloaded of a model. @throws Fault MODEL_NOT_ON_DISK when that is nothing, DOWNLOAD_ALREADY_ACTIVE while it is on its way. */
  async remove(
    source: ModelSource,
    { signal = neverAborted, releaseModels = noRelease }: Partial<Removal> = {},
  ): Promise<Downloaded> {
    if (this.#running.has(filesKey(source)))
      throw new Fault('DOWNLOAD_ALREADY_ACTIVE', `"${source.name}" is being downloaded; cancel that first`);
    return { bytes: await this.#serialized(remove(source, this.#places, { ...this.#policy, signal, releaseModels })) };
  }

  /** Hashes the files of a model again; none where it is not on disk. */
  verify(
    source: ModelSource,
    { signal = neverAborted, onProgress }: SubscribeOptions = {},
  ): Promise<readonly Verified[]> {
    const read = async (): Promise<readonly Verified[]> => {
      const total = (await this.bytesOf(source)) ?? 0;
      let done = 0;
      const onBytes = (bytes: number): void => onProgress?.(progressOf((done += bytes), total));
      return verify(source, this.#places, { ...this.#policy, signal, onBytes });
    };
    return this.#serialized(read());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#running.values()].map((joined) => joined.close()));
  }

  #locate(source: ModelSource): Promise<LocatedModel | undefined> {
    return locateModel(source, this.#places);
  }

  #fetch(
    source: ModelSource,
    callbacks: Pick<DownloadJob, 'onProgress' | 'onRetry'>,
    signal: AbortSignal,
  ): Promise<number> {
    const { folder, manifest } = this.#places;
    const work = async (): Promise<number> =>
      downloadFiles({
        ...callbacks,
        targets: targetsOf(source, folder),
        hub: readHubSettings(this.#env),
        bytesTotal: source.variants[0]?.size_bytes ?? 0,
        folder,
        manifest,
        policy: this.#policy,
        freeBytes: this.#freeBytes,
        signal,
        isThere: async (target) => isComplete(target, (await manifest.read()).get(target.key)),
      });
    return this.#serialized(work());
  }

  async #serialized<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw toDownloadFault(error, this.#places.folder);
    }
  }
}

const neverAborted = new AbortController().signal;
const noRelease = async (): Promise<undefined> => undefined;

/** The files that an entry means, as a text: entries of different names may mean the same. */
export const filesKey = ({ file, variants: [variant] }: ModelSource): string =>
  JSON.stringify([file, variant?.huggingface_repo, variant?.revision, variant?.files]);
