import { Fault } from '../fault.ts';
import { Listener, type DownloadProgress, type OnDownload } from './progress.ts';

/** How an asker takes part in a download. */
export interface Asking {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: OnDownload | undefined;
  /** Told what went wrong and when it is tried again. */
  readonly onTrouble?: ((sentence: string) => void) | undefined;
}

/** What came of a download. */
export interface Downloaded {
  readonly bytes: number;
}

interface Asker {
  readonly name: string;
  readonly listener: Listener;
  readonly onTrouble: (sentence: string) => void;
  readonly leave: () => void;
}

/** What a download does, until it is done or its signal is aborted. */
export type Work = (tell: OnDownload, trouble: (sentence: string) => void, signal: AbortSignal) => Promise<number>;

/** One download that many may ask for: it ends when it is done, or when the last of them has left. */
export class Joined {
  readonly #stop = new AbortController();
  readonly #now: () => number;
  readonly #askers = new Map<object, Asker>();
  #last: DownloadProgress | undefined;
  readonly #done: Promise<number>;
  /** Settles, never rejecting, when nothing more is going on. */
  readonly ended: Promise<void>;

  /** @param now milliseconds of a clock that only goes forward. */
  constructor(work: Work, now: () => number) {
    this.#now = now;
    const tell: OnDownload = (progress) => {
      this.#last = progress;
      for (const { listener } of this.#askers.values()) listener.hear(progress);
    };
    const trouble = (sentence: string): void => this.#askers.forEach(({ onTrouble }) => onTrouble(sentence));
    this.#done = work(tell, trouble, this.#stop.signal);
    this.ended = this.#done.then(
      () => undefined,
      () => undefined,
    );
  }

  /** Whether nobody wants it any more. */
  get stopping(): boolean {
    return this.#stop.signal.aborted;
  }

  has(owner: object, name?: string): boolean {
    const asker = this.#askers.get(owner);
    return asker !== undefined && (name === undefined || asker.name === name);
  }

  /** Waits for the download, on behalf of an owner who is not waiting yet. @throws Fault DOWNLOAD_CANCELLED when the owner leaves. */
  async join(name: string, owner: object, { signal, onProgress, onTrouble }: Asking): Promise<Downloaded> {
    const listener = new Listener(onProgress ?? (() => undefined), this.#now);
    let goOn = (): void => undefined;
    const left = new Promise<undefined>((resolve) => (goOn = () => resolve(undefined)));
    const leave = (): void => {
      this.#remove(owner, asker);
      goOn();
    };
    const asker: Asker = { name, listener, onTrouble: onTrouble ?? (() => undefined), leave };
    this.#askers.set(owner, asker);
    signal?.addEventListener('abort', leave);
    if (this.#last) listener.hear(this.#last);
    if (signal?.aborted) leave();
    try {
      const bytes = await Promise.race([this.#done, left]);
      if (bytes !== undefined) return { bytes };
      throw new Fault('DOWNLOAD_CANCELLED', `the download of "${name}" was cancelled; what came so far is kept`);
    } finally {
      listener.end();
      signal?.removeEventListener('abort', leave);
      this.#remove(owner, asker);
      // The last one out waits until the part is safe on disk.
      if (this.stopping) await this.ended;
    }
  }

  /** Ends an owner's waiting. */
  leave(owner: object): void {
    this.#askers.get(owner)?.leave();
  }

  /** Sends all askers away. */
  async close(): Promise<void> {
    for (const { leave } of this.#askers.values()) leave();
    await this.ended;
  }

  #remove(owner: object, asker: Asker): void {
    if (this.#askers.get(owner) === asker) this.#askers.delete(owner);
    if (this.#askers.size === 0) this.#stop.abort();
  }
}
