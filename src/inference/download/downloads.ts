import { existsSync } from 'node:fs';
import { dirname, resolve, sep } from 'node:path';
import { homedir } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { neverAborted } from '../../base/abort.ts';
import { Fault } from '../../protocol/fault.ts';
import { describeFsError, draftPath } from '../../base/filesystem.ts';
import { isLocked, acquireLock } from './disk/lockFile.ts';
import { downloadManifest, type LockWait } from './disk/manifest.ts';
import { fileSize, partialFileSize } from './disk/modelFile.ts';
import { partialPath, badPath, resumeInfoPath } from './disk/partialFile.ts';
import { downloadModel, type FreeBytes, systemFreeBytes } from './downloadModel.ts';
import type { Environment } from '../../base/httpRoute.ts';
import { hubCacheFolder, readHubSettings } from './hub/endpoint.ts';
import { allTargets, type LocatedModel, locateModel, missingTargets, type SearchPaths } from './locate.ts';
import { findLocalFiles } from './local/findLocalFiles.ts';
import { findModelStores } from './local/stores.ts';
import { progressOf } from './progress.ts';
import type { RetryPolicy } from './retry.ts';
import { type Downloaded, type DownloadReport, SharedDownload, type SubscribeOptions } from './sharedDownload.ts';
import { findMissingFile, localFiles, type ModelSource, targetsOrEmpty, type Target } from './target.ts';
import { type Verified, verify } from './verify.ts';
import { lstat, rm } from 'node:fs/promises';

/** Where a model is: not on disk, being downloaded, in the models folder or the Hugging Face cache, or a `local_path`. */
export type DownloadStatus = 'ABSENT' | 'DOWNLOADING' | 'DOWNLOADED' | 'LOCAL';

/** Options of `Downloads`; those of the retry policy default to `defaultRetryPolicy`. */
export interface DownloadOptions extends Partial<RetryPolicy> {
  /**
   * HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE, HF_HOME, HF_HUB_CACHE, HTTPS_PROXY, HTTP_PROXY, NO_PROXY, and what says where other programs keep their models;
   * default: `process.env`.
   */
  readonly env?: Environment;
  /** Home folder of the user, below which other programs keep their models; default: that of the system. */
  readonly home?: string;
  /** Default: the free bytes that the system reports. */
  readonly freeBytes?: FreeBytes;
  /** Milliseconds of a monotonic clock, by which progress is throttled to four a second; default: `performance.now`. */
  readonly now?: () => number;
}

const defaultRetryPolicy: RetryPolicy = {
  maxAttempts: 6,
  stallMs: 30_000,
  maxWaitMs: 300_000,
  wait: async (ms, signal) => void (await sleep(ms, undefined, { signal })),
};

/** The model downloader of a models folder: at most one download of each model, shared by all owners that ask for it. */
export class Downloads implements AsyncDisposable {
  readonly #options: Required<Omit<DownloadOptions, keyof RetryPolicy>>;
  readonly #policy: RetryPolicy;
  readonly #paths: SearchPaths;
  readonly #running = new Map<string, SharedDownload>();
  #closed = false;

  /** @param folder the models folder; it is made when the first download needs it. */
  constructor(
    folder: string,
    {
      env = process.env,
      home = homedir(),
      freeBytes = systemFreeBytes,
      now = () => performance.now(),
      ...policy
    }: DownloadOptions = {},
  ) {
    this.#options = { env, home, freeBytes, now };
    this.#policy = { ...defaultRetryPolicy, ...policy };
    this.#paths = { folder, cache: hubCacheFolder(env, home), manifest: downloadManifest(folder) };
  }

  /**
   * Downloads a model for an owner, or joins the download that is running; returns immediately when the model is on disk.
   * @throws Fault DOWNLOAD_ALREADY_ACTIVE when the owner waits for it already, SERVER_SHUTTING_DOWN after disposal, and 6001
   * to 6005 and 6011 as it ends.
   */
  async start(source: ModelSource, owner: object, options: SubscribeOptions = {}): Promise<Downloaded> {
    if (this.#closed) throw new Fault('SERVER_SHUTTING_DOWN', 'no download is started any more');
    const { name } = source;
    const key = filesKey(source);
    const running = this.#running.get(key);
    if (running?.hasSubscriber(owner))
      throw new Fault('DOWNLOAD_ALREADY_ACTIVE', `you are downloading "${name}" already`);
    if (running && !running.stopping) return running.subscribe(name, owner, options);
    const download = new SharedDownload(async (report, signal) => {
      await running?.ended;
      const located = await this.locate(source);
      if (!located) return this.#download(source, report, signal);
      report.onProgress(progressOf(located.bytes, located.bytes));
      return located.bytes;
    }, this.#options.now);
    this.#running.set(key, download);
    void download.ended.then(() => this.#running.get(key) === download && this.#running.delete(key));
    return download.subscribe(name, owner, options);
  }

  /** Ends an owner's wait for a model; the download goes on while others wait. Returns whether the owner waited. */
  cancel(name: string, owner: object): boolean {
    const downloads = [...this.#running.values()].filter((download) => download.hasSubscriber(owner, name));
    for (const download of downloads) download.unsubscribe(owner);
    return downloads.length > 0;
  }

  /** Where a model is now. DOWNLOADING also when another process downloads it. */
  async readStatus(source: ModelSource, locating = this.locate(source)): Promise<DownloadStatus> {
    const located = await locating;
    if (located) return located.source === 'own' ? 'LOCAL' : 'DOWNLOADED';
    const locked = await Promise.all(allTargets(source, this.#paths.folder).map(({ path }) => isLocked(path)));
    return this.#running.has(filesKey(source)) || locked.includes(true) ? 'DOWNLOADING' : 'ABSENT';
  }

  /** The files of a model; undefined unless all of them are on disk. */
  locate(source: ModelSource): Promise<LocatedModel | undefined> {
    return locateModel(source, this.#paths);
  }

  /** Which file of a model is missing though others of it are there, or though it is one of the user's own; undefined: none. */
  async findMissing(source: ModelSource, locating = this.locate(source)): Promise<string | undefined> {
    if (await locating) return undefined;
    const own = localFiles(source);
    const files = own.length > 0 ? own : targetsOrEmpty(source, this.#paths.folder).map(({ path }) => path);
    const isOwn = own.length > 0 && source.variants[0]?.huggingface_repo === undefined;
    return isOwn || files.some((file) => existsSync(file)) ? findMissingFile(files) : undefined;
  }

  /** Bytes of complete and partial files in the models folder, from which a download resumes. */
  async readKeptBytes(source: ModelSource): Promise<number> {
    const targets = allTargets(source, this.#paths.folder);
    const sizes = await Promise.all(
      targets.map(async ({ path }) => (await fileSize(path)) ?? (await partialFileSize(partialPath(path)))),
    );
    return sizes.reduce<number>((sum, bytes = 0) => sum + bytes, 0);
  }

  /** Free bytes of the disk of the models folder; undefined: that cannot be read. */
  async readFreeBytes(): Promise<number | undefined> {
    let { folder } = this.#paths;
    while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder);
    return this.#options.freeBytes(folder).catch(() => undefined);
  }

  /** Deletes what was downloaded. @throws Fault MODEL_NOT_ON_DISK, DOWNLOAD_ALREADY_ACTIVE; of `releaseModels`. */
  async remove(
    source: ModelSource,
    { signal = neverAborted(), releaseModels = async () => undefined }: Partial<Omit<RemoveOptions, 'wait'>> = {},
  ): Promise<Downloaded> {
    if (this.#running.has(filesKey(source)))
      throw new Fault('DOWNLOAD_ALREADY_ACTIVE', `"${source.name}" is being downloaded; cancel that first`);
    const removal = remove(source, this.#paths, { wait: this.#policy.wait, signal, releaseModels });
    return { bytes: await this.#withFaults(removal) };
  }

  /** Hashes the files of a model again; no results when it is not on disk. @throws Fault, as `toDownloadFault` makes it. */
  verify(
    source: ModelSource,
    { signal = neverAborted(), onProgress }: SubscribeOptions = {},
  ): Promise<readonly Verified[]> {
    const read = async (): Promise<readonly Verified[]> => {
      const total = (await this.locate(source))?.bytes ?? 0;
      let done = 0;
      const onBytes = (bytes: number): void => onProgress?.(progressOf((done += bytes), total));
      return verify(source, this.#paths, { wait: this.#policy.wait, signal, onBytes });
    };
    return this.#withFaults(read());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#running.values()].map((download) => download.close()));
  }

  /** GGUF files that other programs have on this machine, and the folders that were searched, whether they exist or not. */
  async findLocalModels() {
    const stores = await findModelStores(this.#options);
    return { stores, files: await findLocalFiles(stores) };
  }

  #download(source: ModelSource, report: DownloadReport, signal: AbortSignal): Promise<number> {
    const { folder, manifest } = this.#paths;
    const { env, home, freeBytes } = this.#options;
    const work = async (): Promise<number> =>
      downloadModel({
        targets: await missingTargets(source, this.#paths),
        readHub: () => readHubSettings(env, home),
        findLocalFiles: async () => (await this.findLocalModels()).files,
        bytesTotal: source.variants[0]?.lora ? 0 : (source.variants[0]?.size_bytes ?? 0),
        folder,
        manifest,
        policy: this.#policy,
        freeBytes,
        signal,
        ...report,
      });
    return this.#withFaults(work());
  }

  async #withFaults<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw toDownloadFault(error, this.#paths.folder);
    }
  }
}

/** The files of a catalogue entry as a text: entries with different names may have the same files. */
export const filesKey = ({ file, variants: [variant] }: ModelSource): string =>
  JSON.stringify([file, variant?.huggingface_repo, variant?.revision, variant?.files, variant?.lora]);

/**
 * Converts what ended a download to a Fault: an abort to DOWNLOAD_CANCELLED, a full disk to INSUFFICIENT_DISK_SPACE, another
 * error of the file system to DOWNLOAD_FAILED with its path.
 * @param folder the models folder.
 */
export function toDownloadFault(thrown: unknown, folder: string): Fault {
  if (thrown instanceof Fault) return thrown;
  const { name, code, path } = Object(thrown) as Readonly<Record<string, unknown>>;
  if (name === 'AbortError') return new Fault('DOWNLOAD_CANCELLED', 'it was cancelled', { cause: thrown });
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Fault('INSUFFICIENT_DISK_SPACE', `the disk of ${folder} is full; what came so far is kept`, {
      cause: thrown,
    });
  if (typeof code !== 'string') return Fault.from(thrown);
  const failedPath = typeof path === 'string' ? path : folder;
  // Another models folder does not help with a file elsewhere, for example one of the user's own that is only read.
  const hint =
    isWithin(failedPath, folder) || isWithin(folder, failedPath) ? '; choose another folder with --models' : '';
  return new Fault('DOWNLOAD_FAILED', `${failedPath} cannot be written or read: ${describeFsError(thrown)}${hint}`, {
    cause: thrown,
  });
}

const isWithin = (path: string, folder: string): boolean =>
  withSeparator(resolve(path)).startsWith(withSeparator(resolve(folder)));

const withSeparator = (folder: string): string => (folder.endsWith(sep) ? folder : `${folder}${sep}`);

interface RemoveOptions extends LockWait {
  /** Unloads the model and blocks loads of it until the result is disposed of. @throws when the model is in use. */
  readonly releaseModels: () => Promise<Disposable | undefined>;
}

/**
 * Deletes the downloaded, partial, quarantined and unfinished files of a model, and their records. Returns the bytes that were freed.
 * @throws Fault MODEL_NOT_ON_DISK when there are none, DOWNLOAD_ALREADY_ACTIVE when another process works on one; errors of
 * `releaseModels`.
 */
async function remove(
  source: ModelSource,
  paths: SearchPaths,
  { releaseModels, ...lockWait }: RemoveOptions,
): Promise<number> {
  const targets = allTargets(source, paths.folder);
  // Loads stay blocked until all files are deleted: some files of a model are of no use.
  using _ = (await hasAnyFile(targets)) ? await releaseModels() : undefined;
  let [freedBytes, isAnyRemoved] = [0, false];
  for (const { path } of targets) {
    const files = filesOf(path);
    const sizes = (await Promise.all(files.map(readFreedBytes))).filter((bytes) => bytes !== undefined);
    if (sizes.length === 0) continue;
    await using _ = await acquireLock(path);
    const resumeInfo = resumeInfoPath(partialPath(path));
    for (const file of [...files, resumeInfo, draftPath(resumeInfo)]) await rm(file, { force: true });
    isAnyRemoved = true;
    freedBytes += sizes.reduce((sum, bytes) => sum + bytes, 0);
  }
  if (!isAnyRemoved) throw nothingToRemove(source.name, await locateModel(source, paths));
  await paths.manifest.update((records) => targets.forEach(({ key }) => records.delete(key)), lockWait);
  return freedBytes;
}

/** Bytes that become free when a file is deleted: 0 when it has another name too. Undefined when there is no file. */
async function readFreedBytes(path: string): Promise<number | undefined> {
  const stats = await lstat(path).catch(() => undefined);
  if (!stats || stats.isDirectory()) return undefined;
  return stats.isFile() && stats.nlink === 1 ? stats.size : 0;
}

// The draft is the copy of a local file, which a killed process left.
const filesOf = (path: string): readonly string[] => [path, partialPath(path), badPath(path), draftPath(path)];

async function hasAnyFile(targets: readonly Target[]): Promise<boolean> {
  const sizes = await Promise.all(targets.flatMap(({ path }) => filesOf(path)).map(readFreedBytes));
  return sizes.some((bytes) => bytes !== undefined);
}

function nothingToRemove(name: string, located: LocatedModel | undefined): Fault {
  const [file = ''] = located?.files ?? [];
  const reason =
    located === undefined
      ? 'is not on disk'
      : located.source === 'own'
        ? `is a file of your own, which is never deleted: ${file}`
        : `is in the cache of the Hugging Face programs, which clean it themselves: ${file}`;
  return new Fault('MODEL_NOT_ON_DISK', `"${name}" ${reason}`);
}
