import { Fault } from '../fault.ts';
import { ProgressThrottle, type DownloadProgress, type OnDownload } from './progress.ts';

/** How an asker takes part in a download. */
export interface SubscribeOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: OnDownload | undefined;
  /** Told what went wrong and when it is tried again. */
  readonly onRetry?: ((sentence: string) => void) | undefined;
}

/** What came of a download. */
export interface Downloaded {
  readonly bytes: number;
}

interface Subscriber {
  readonly name: string;
  readonly listener: ProgressThrottle;
  readonly onRetry: (sentence: string) => void;
  readonly unsubscribe: () => void;
}

/** What a download does, until it is done or its signal is aborted. */
export type Work = (tell: OnDownload, trouble: (sentence: string) => void, signal: AbortSignal) => Promise<number>;

/** One download that many may ask for: it ends when it is done, or when the last of them has left. */
export class SharedDownload {
  readonly #stop = new AbortController();
  readonly #subscribers = new Map<object, Subscriber>();
  #last: DownloadProgress | undefined;
  readonly #done: Promise<number>;
  /** Settles, never rejecting, when nothing more is going on. */
  readonly ended: Promise<void>;

  constructor(work: Work) {
    const tell: OnDownload = (progress) => {
      this.#last = progress;
      for (const { listener } of this.#subscribers.values()) listener.update(progress);
    };
    const trouble = (sentence: string): void => this.#subscribers.forEach(({ onRetry }) => onRetry(sentence));
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
    const subscriber = this.#subscribers.get(owner);
    return subscriber !== undefined && (name === undefined || subscriber.name === name);
  }

  /** Waits for the download, on behalf of an owner who is not waiting yet. @throws Fault DOWNLOAD_CANCELLED when the owner leaves. */
  async join(name: string, owner: object, { signal, onProgress, onRetry }: SubscribeOptions): Promise<Downloaded> {
    const listener = new ProgressThrottle(onProgress ?? (() => undefined));
    let goOn = (): void => undefined;
    const left = new Promise<undefined>((resolve) => (goOn = () => resolve(undefined)));
    const unsubscribe = (): void => {
      this.#remove(owner, subscriber);
      goOn();
    };
    const subscriber: Subscriber = { name, listener, onRetry: onRetry ?? (() => undefined), unsubscribe };
    this.#subscribers.set(owner, subscriber);
    signal?.addEventListener('abort', unsubscribe);
    if (this.#last) listener.update(this.#last);
    if (signal?.aborted) unsubscribe();
    try {
      const bytes = await Promise.race([this.#done, left]);
      if (bytes !== undefined) return { bytes };
      throw new Fault('DOWNLOAD_CANCELLED', `the download of "${name}" was cancelled; what came so far is kept`);
    } finally {
      listener.end();
      signal?.removeEventListener('abort', unsubscribe);
      this.#remove(owner, subscriber);
      // The last one out waits until the part is safe on disk.
      if (this.stopping) await this.ended;
    }
  }

  /** Ends an owner's waiting. */
  leave(owner: object): void {
    this.#subscribers.get(owner)?.unsubscribe();
  }

  /** Sends all askers away. */
  async close(): Promise<void> {
    for (const { unsubscribe: leave } of this.#subscribers.values()) leave();
    await this.ended;
  }

  #remove(owner: object, subscriber: Subscriber): void {
    if (this.#subscribers.get(owner) === subscriber) this.#subscribers.delete(owner);
    if (this.#subscribers.size === 0) this.#stop.abort();
  }
}
