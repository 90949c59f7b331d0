import { watch, type FSWatcher } from 'node:fs';
import { realpath, stat } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { describeFsError } from '../../../base/filesystem.ts';

export interface FileWatcherOptions {
  readonly path: string;
  /**
   * Called once when the watch has begun, then when the file may have changed; one call at a time. Returns whether to call it
   * again in `retryDelayMs` although nothing changes: for want of file handles, for example. Must not throw.
   */
  readonly onChange: () => Promise<{ readonly retry: boolean }>;
  /** Called when the folder of the file cannot be watched; `onChange` is then called every `retryDelayMs`. */
  readonly onFailure: (reason: string) => void;
}

// A file that is written in several steps is read after the last one.
const fileEventDelayMs = 100;
// Other files of the folder, and the folder itself: after a change the path may lead to another file.
const folderEventDelayMs = 1000;
/** Milliseconds after which a file is read again that could not be read, or whose folder cannot be watched. */
export const retryDelayMs = 5000;

/**
 * File watcher: reports changes of one file, also when editors replace it, and when it or its folder is a link. It watches
 * the folder, because the watch of a file ends when that file is replaced.
 */
export class FileWatcher implements AsyncDisposable {
  readonly #options: FileWatcherOptions;
  readonly #watches = new Map<string, { readonly watcher: FSWatcher; readonly id: string }>();
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires, in ms of `performance.now()`. */
  #dueMs = Infinity;
  #check: Promise<void>;
  #isClosed = false;
  #failure: string | undefined;

  constructor(options: FileWatcherOptions) {
    this.#options = options;
    this.#check = this.#runCheck();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#check;
    for (const { watcher } of this.#watches.values()) watcher.close();
    this.#watches.clear();
  }

  async #runCheck(): Promise<void> {
    await this.#watchFolders();
    if (this.#isClosed) return;
    const { retry } = await this.#options.onChange();
    if (retry) this.#schedule(retryDelayMs, false);
  }

  /** Checks after the delay. An event of the file puts the check off; another event never does. */
  #schedule(delayMs: number, isFileEvent: boolean): void {
    const dueMs = performance.now() + delayMs;
    if (this.#isClosed || (this.#timer && !isFileEvent && this.#dueMs <= dueMs)) return;
    clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#check = this.#check.then(() => (this.#isClosed ? undefined : this.#runCheck()));
    }, delayMs).unref();
  }

  /** Watches the folder of the path and that of the file behind it; ends watches of folders that were replaced. */
  async #watchFolders(): Promise<void> {
    const path = resolve(this.#options.path);
    const target = await realpath(path).catch(() => path);
    const folders = new Set([dirname(path), dirname(target)]);
    for (const [folder, { watcher, id }] of this.#watches) {
      if (folders.has(folder) && id === (await readFolderId(folder).catch(() => undefined))) continue;
      watcher.close();
      this.#watches.delete(folder);
    }
    for (const folder of folders) {
      if (this.#watches.has(folder)) continue;
      try {
        this.#watches.set(folder, { id: await readFolderId(folder), watcher: this.#watchFolder(folder) });
        this.#failure = undefined;
      } catch (error) {
        this.#fail(`${folder}: ${describeWatchError(error)}`);
      }
    }
  }

  #watchFolder(folder: string): FSWatcher {
    const name = basename(this.#options.path);
    const watcher = watch(folder, { persistent: false }, (_, file) => {
      const isFileEvent = file === null || file === name;
      this.#schedule(isFileEvent ? fileEventDelayMs : folderEventDelayMs, isFileEvent);
    });
    return watcher.on('error', (error) => {
      watcher.close();
      this.#watches.delete(folder);
      this.#fail(`${folder}: ${describeWatchError(error)}`);
    });
  }

  #fail(reason: string): void {
    if (this.#failure !== reason) this.#options.onFailure(reason);
    this.#failure = reason;
    this.#schedule(retryDelayMs, false);
  }
}

// For a watch of Linux, ENOSPC does not mean a full disk.
function describeWatchError(error: unknown): string {
  const { code } = Object(error) as { readonly code?: unknown };
  if (code !== 'ENOSPC') return describeFsError(error);
  return 'the system watches no more files (ENOSPC); raise fs.inotify.max_user_watches';
}

/** Identifies a folder: another one in its place has another id. */
async function readFolderId(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  return `${dev}:${ino}`;
}
