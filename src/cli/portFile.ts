import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { describeFsError, writeAtomic } from '../filesystem.ts';

/** The file that tells where a server listens, for those who cannot read its output; it goes with the server. */
export class PortFile implements AsyncDisposable {
  readonly #path: string;
  readonly #draft: string;
  #line: string | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#draft = `${path}.part`;
  }

  /** Makes sure that it can be written, before a server has begun. @throws Error that names --port-file. */
  prepare(): Promise<void> {
    return this.#safely(async () => {
      const there = await stat(this.#path).catch(() => undefined);
      if (there?.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' });
      await writeFile(this.#draft, '');
      await rm(this.#draft);
    });
  }

  /** Writes it at once: who watches it never sees half a line. @throws Error that names --port-file. */
  write(line: string): Promise<void> {
    return this.#safely(async () => {
      await writeAtomic(this.#path, line, this.#draft);
      this.#line = line;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#line === undefined) return;
    // What cannot be removed stays: the end of the server is no time to complain of it.
    const there = await readFile(this.#path, 'utf8').catch(() => undefined);
    // A server that was started since has its own line there, and must be found.
    if (there === this.#line) await rm(this.#path, { force: true }).catch(() => undefined);
  }

  async #safely(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      const { code = '' } = cause as NodeJS.ErrnoException;
      const noFolder = code === 'ENOENT' || code === 'ENOTDIR';
      const why = noFolder ? `there is no folder ${dirname(resolve(this.#path))}` : describeFsError(cause);
      throw new Error(`--port-file ${this.#path} cannot be written: ${why}`, { cause });
    }
  }
}
