import { setTimeout as sleep } from 'node:timers/promises';
import { Fault } from '../fault.ts';
import { bytesOf } from './files.ts';
import { find, isWhole, sought, type Found, type Places } from './found.ts';
import { cacheFolder, hubOf, type Environment } from './hub.ts';
import { Joined, type Asking, type Downloaded } from './joined.ts';
import { Ledger } from './ledger.ts';
import { isLocked } from './lock.ts';
import { partOf } from './part.ts';
import type { Persistence } from './persistence.ts';
import { progressOf } from './progress.ts';
import { remove, type Removing } from './remove.ts';
import { systemFreeBytes, transfer, type FreeBytes, type Transfer } from './transfer.ts';
import { transferFault } from './transferFault.ts';
import { verify, type Verified } from './verify.ts';
import { targetsOf, type Wanted } from './wanted.ts';

/** Where a model is: nowhere, on its way, in the models folder or the hub's cache, or in the user's own folder. */
export type DownloadStatus = 'ABSENT' | 'DOWNLOADING' | 'DOWNLOADED' | 'LOCAL';

/** How downloads are made; what is absent is as usual. */
export interface DownloadOptions extends Partial<Persistence> {
  /** HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE, HF_HOME and HF_HUB_CACHE; default: those of the process. */
  readonly env?: Environment;
  readonly freeBytes?: FreeBytes;
  /** Milliseconds of a clock that only goes forward: askers hear how far it is at most four times a second of it. */
  readonly now?: () => number;
}

const usual: Persistence = {
  tries: 6,
  stallMs: 30_000,
  longestWaitMs: 300_000,
  wait: async (ms, signal) => void (await sleep(ms, undefined, { signal })),
};

type Removal = Pick<Removing, 'signal' | 'letGo'>;

/** The downloads of a models folder: one of each model at a time, whoever asks for it. */
export class Downloads implements AsyncDisposable {
  readonly #env: Environment;
  readonly #persistence: Persistence;
  readonly #freeBytes: FreeBytes;
  readonly #now: () => number;
  readonly #places: Places;
  readonly #running = new Map<string, Joined>();
  #closed = false;

  constructor(
    folder: string,
    { env = process.env, freeBytes = systemFreeBytes, now = monotonic, ...persistence }: DownloadOptions = {},
  ) {
    this.#env = env;
    this.#persistence = { ...usual, ...persistence };
    this.#freeBytes = freeBytes;
    this.#now = now;
    this.#places = { folder, cache: cacheFolder(env), ledger: new Ledger(folder) };
  }

  /**
   * Downloads a model for an owner, or waits with others for the download that is going on; one that is on disk is done.
   * @throws Fault DOWNLOAD_ALREADY_ACTIVE when the owner waits for it already, and 6001 to 6005 and 6011 as it ends.
   */
  async start(wanted: Wanted, owner: object, asking: Asking = {}): Promise<Downloaded> {
    if (this.#closed) throw new Fault('SERVER_SHUTTING_DOWN', 'no download is started any more');
    const { name } = wanted;
    const key = filesKey(wanted);
    const before = this.#running.get(key);
    if (before?.has(owner)) throw new Fault('DOWNLOAD_ALREADY_ACTIVE', `you are downloading "${name}" already`);
    if (before && !before.stopping) return before.join(name, owner, asking);
    const joined = new Joined(async (tell, trouble, signal) => {
      await before?.ended;
      const found = await this.#find(wanted);
      if (!found) return this.#fetch(wanted, { onProgress: tell, onTrouble: trouble }, signal);
      tell(progressOf(found.bytes, found.bytes));
      return found.bytes;
    }, this.#now);
    this.#running.set(key, joined);
    void joined.ended.then(() => this.#running.get(key) === joined && this.#running.delete(key));
    return joined.join(name, owner, asking);
  }

  /** Ends an owner's waiting for a model; the download goes on while others wait. Returns whether there was one. */
  cancel(name: string, owner: object): boolean {
    const waited = [...this.#running.values()].filter((joined) => joined.has(owner, name));
    for (const joined of waited) joined.leave(owner);
    return waited.length > 0;
  }

  /** Where a model is now. */
  async statusOf(wanted: Wanted): Promise<DownloadStatus> {
    const found = await this.#find(wanted);
    if (found) return found.place === 'own' ? 'LOCAL' : 'DOWNLOADED';
    const targets = sought(wanted, this.#places.folder);
    const locked = await Promise.all(targets.map(({ path }) => isLocked(path)));
    return this.#running.has(filesKey(wanted)) || locked.includes(true) ? 'DOWNLOADING' : 'ABSENT';
  }

  /** The file to load, if all files of the model are on disk. */
  async fileOf(wanted: Wanted): Promise<string | undefined> {
    return (await this.#find(wanted))?.files[0];
  }

  /** Bytes of a model's files on disk. */
  async bytesOf(wanted: Wanted): Promise<number | undefined> {
    return (await this.#find(wanted))?.bytes;
  }

  /** Bytes of an unfinished download, from which the next one goes on. */
  async bytesKept(wanted: Wanted): Promise<number> {
    const targets = sought(wanted, this.#places.folder);
    const sizes = await Promise.all(
      targets.map(async ({ path }) => (await bytesOf(path)) ?? (await bytesOf(partOf(path)))),
    );
    return sizes.reduce<number>((sum, bytes = 0) => sum + bytes, 0);
  }

  /** Deletes what was downloaded of a model. @throws Fault MODEL_NOT_ON_DISK when that is nothing, DOWNLOAD_ALREADY_ACTIVE while it is on its way. */
  async remove(wanted: Wanted, { signal = never, letGo = nobody }: Partial<Removal> = {}): Promise<Downloaded> {
    if (this.#running.has(filesKey(wanted)))
      throw new Fault('DOWNLOAD_ALREADY_ACTIVE', `"${wanted.name}" is being downloaded; cancel that first`);
    return { bytes: await this.#safely(remove(wanted, this.#places, { ...this.#persistence, signal, letGo })) };
  }

  /** Hashes the files of a model again; none where it is not on disk. */
  verify(wanted: Wanted, { signal = never, onProgress }: Asking = {}): Promise<readonly Verified[]> {
    const read = async (): Promise<readonly Verified[]> => {
      const total = (await this.bytesOf(wanted)) ?? 0;
      let done = 0;
      const onBytes = (bytes: number): void => onProgress?.(progressOf((done += bytes), total));
      return verify(wanted, this.#places, { ...this.#persistence, signal, onBytes });
    };
    return this.#safely(read());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#running.values()].map((joined) => joined.close()));
  }

  #find(wanted: Wanted): Promise<Found | undefined> {
    return find(wanted, this.#places);
  }

  #fetch(wanted: Wanted, hearing: Pick<Transfer, 'onProgress' | 'onTrouble'>, signal: AbortSignal): Promise<number> {
    const { folder, ledger } = this.#places;
    const work = async (): Promise<number> =>
      transfer({
        ...hearing,
        targets: targetsOf(wanted, folder),
        hub: hubOf(this.#env),
        bytesTotal: wanted.variants[0]?.size_bytes ?? 0,
        folder,
        ledger,
        persistence: this.#persistence,
        freeBytes: this.#freeBytes,
        signal,
        isThere: async (target) => isWhole(target, (await ledger.read()).get(target.key)),
      });
    return this.#safely(work());
  }

  async #safely<T>(work: Promise<T>): Promise<T> {
    try {
      return await work;
    } catch (error) {
      throw transferFault(error, this.#places.folder);
    }
  }
}

const monotonic = (): number => performance.now();
const never = new AbortController().signal;
const nobody = async (): Promise<undefined> => undefined;

/** The files that an entry means, as a text: entries of different names may mean the same. */
export const filesKey = ({ file, variants: [variant] }: Wanted): string =>
  JSON.stringify([file, variant?.huggingface_repo, variant?.revision, variant?.files]);
