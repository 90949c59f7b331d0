import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A real disk (tmpfs) of a few bytes. The test needs the requirement `smallDisk`. */
export class SmallDisk implements AsyncDisposable {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async mount(kilobytes: number): Promise<SmallDisk> {
    const folder = await mkdtemp(join(tmpdir(), 'turngraph-disk-'));
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${kilobytes}k`, 'tmpfs', folder]);
    return new SmallDisk(folder);
  }

  /** Changes the size of the disk, with all files on it. */
  resize(kilobytes: number): void {
    execFileSync('mount', ['-o', `remount,size=${kilobytes}k`, this.folder]);
  }

  /** Fills the disk until no byte more fits. */
  async fill(): Promise<void> {
    const isFull = await writeFile(join(this.folder, 'filler'), Buffer.alloc(2 ** 26)).then(
      () => false,
      (error: NodeJS.ErrnoException) => error.code === 'ENOSPC',
    );
    if (!isFull) throw new Error('the disk is not full');
  }

  /** Makes room again. */
  async free(): Promise<void> {
    await rm(join(this.folder, 'filler'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    execFileSync('umount', [this.folder]);
    await rm(this.folder, { recursive: true });
  }
}
