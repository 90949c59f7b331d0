import { raceAbort } from '../../base/abort.ts';
import { onAbort } from '../../base/events.ts';
import { Fault } from '../../protocol/fault.ts';
import type { LocalFile } from './local/findLocalFiles.ts';
import { throttleProgress, type DownloadProgress, type OnDownload } from './progress.ts';

/** How an owner (a session, a CLI command) waits for a download. */
export interface SubscribeOptions {
  /** Ends the owner's wait; the download goes on while others wait. */
  readonly signal?: AbortSignal | undefined;
  /** Called at most four times a second, and at the end. */
  readonly onProgress?: OnDownload | undefined;
  /** Called before each retry with a message: what failed, and in how many seconds it is tried again. */
  readonly onRetry?: ((message: string) => void) | undefined;
  /** Called before a file that another program has is read, to be taken instead of a download if its hash is right. */
  readonly onLocalFile?: ((file: LocalFile) => void) | undefined;
}

export type DownloadReport = {
  readonly [Name in Exclude<keyof SubscribeOptions, 'signal'>]-?: NonNullable<SubscribeOptions[Name]>;
};

export interface Downloaded {
  /** Bytes of all files. */
  readonly bytes: number;
}

interface Subscriber extends Pick<SubscribeOptions, 'onRetry' | 'onLocalFile'> {
  readonly modelName: string;
  readonly throttle: ReturnType<typeof throttleProgress>;
  readonly unsubscribe: () => void;
}

/** One download with any number of subscribers. It ends when it is complete, or is aborted when the last one has unsubscribed. */
export class SharedDownload {
  readonly #abort = new AbortController();
  readonly #now: () => number;
  readonly #subscribers = new Map<object, Subscriber>();
  #lastProgress: DownloadProgress | undefined;
  readonly #result: Promise<number>;
  /** Resolves, never rejects, when the download has ended. */
  readonly ended: Promise<void>;

  /**
   * @param work does the download until it is complete or the signal is aborted; returns the bytes of all files.
   * @param now milliseconds of a monotonic clock.
   */
  constructor(work: (report: DownloadReport, signal: AbortSignal) => Promise<number>, now: () => number) {
    this.#now = now;
    const onProgress: OnDownload = (progress) => {
      this.#lastProgress = progress;
      for (const { throttle } of this.#subscribers.values()) throttle.update(progress);
    };
    const onRetry = (message: string): void => this.#subscribers.forEach((subscriber) => subscriber.onRetry?.(message));
    const onLocalFile = (file: LocalFile): void =>
      this.#subscribers.forEach((subscriber) => subscriber.onLocalFile?.(file));
    this.#result = work({ onProgress, onRetry, onLocalFile }, this.#abort.signal);
    this.ended = this.#result.then(
      () => undefined,
      () => undefined,
    );
  }

  /** Whether it is aborted: no subscriber is left. */
  get stopping(): boolean {
    return this.#abort.signal.aborted;
  }

  /** Whether an owner waits for it, under this name of the model if one is given. */
  hasSubscriber(owner: object, modelName?: string): boolean {
    const subscriber = this.#subscribers.get(owner);
    return subscriber !== undefined && (modelName === undefined || subscriber.modelName === modelName);
  }

  /** Waits on behalf of an owner. @throws Fault DOWNLOAD_CANCELLED when it unsubscribes; else the error. */
  async subscribe(
    modelName: string,
    owner: object,
    { signal, onProgress, onRetry, onLocalFile }: SubscribeOptions,
  ): Promise<Downloaded> {
    const throttle = throttleProgress(onProgress ?? (() => undefined), this.#now);
    const leaving = new AbortController();
    const unsubscribe = (): void => {
      this.#remove(owner, subscriber);
      leaving.abort();
    };
    const subscriber: Subscriber = { modelName, throttle, onRetry, onLocalFile, unsubscribe };
    this.#subscribers.set(owner, subscriber);
    if (this.#lastProgress) throttle.update(this.#lastProgress);
    const forget = signal && onAbort(signal)(unsubscribe);
    const cancelled = (): Fault =>
      new Fault('DOWNLOAD_CANCELLED', `the download of "${modelName}" was cancelled; what came so far is kept`);
    try {
      return { bytes: await raceAbort(this.#result, leaving.signal, cancelled) };
    } finally {
      throttle.flush();
      forget?.();
      this.#remove(owner, subscriber);
      // The last subscriber waits until the partial file is flushed and closed.
      if (this.stopping) await this.ended;
    }
  }

  /** Ends the wait of an owner, if it waits. */
  unsubscribe(owner: object): void {
    this.#subscribers.get(owner)?.unsubscribe();
  }

  /** Ends the wait of all owners, and with it the download. */
  async close(): Promise<void> {
    for (const { unsubscribe } of this.#subscribers.values()) unsubscribe();
    await this.ended;
  }

  #remove(owner: object, subscriber: Subscriber): void {
    if (this.#subscribers.get(owner) === subscriber) this.#subscribers.delete(owner);
    if (this.#subscribers.size === 0) this.#abort.abort();
  }
}
