import { statSync } from 'node:fs';
import { Fault } from '../../protocol/fault.ts';

/** After this many crashes without a finished turn between them, a model is given up. */
const maxCrashes = 3;

/** Crashes of models since their last finished turn, by file. */
export class CrashCounts {
  readonly #counts = new Map<string, number>();

  /** Counts a crash. @returns the number of crashes since the last finished turn. */
  add(file: string): number {
    const key = fileKey(file);
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count;
  }

  /** Forgets the crashes of a file. */
  reset(file: string): void {
    if (this.#counts.size > 0) this.#counts.delete(fileKey(file));
  }

  /** Why a file is not loaded any more; undefined while it may be loaded. */
  fault(file: string): Fault | undefined {
    const count = this.#counts.size > 0 ? (this.#counts.get(fileKey(file)) ?? 0) : 0;
    if (count < maxCrashes) return undefined;
    return new Fault(
      'MODEL_LOAD_FAILED',
      `${file} is not loaded: its engine process has crashed ${count} times without a finished turn; ` +
        'loadModel tries again, or use another file',
    );
  }
}

// Another file of the same name has not crashed.
function fileKey(file: string): string {
  try {
    const { size, mtimeMs } = statSync(file);
    return `${file} ${size} ${mtimeMs}`;
  } catch {
    // Its disk was removed, for example.
    return file;
  }
}
