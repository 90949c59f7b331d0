import { readFile, rm, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { createFile, describeFsError, writeAtomic } from '../base/filesystem.ts';
import { isProcessAlive } from '../base/ownership.ts';

/**
 * The file of `--port-file`: has the port of the server, for programs that cannot read its output. Deleted with the
 * server.
 */
export class PortFile implements AsyncDisposable {
  readonly #path: string;
  readonly #draft: string;
  #line: string | undefined;

  constructor(path: string) {
    this.#path = path;
    this.#draft = `${path}.part`;
  }

  /**
   * Checks that the file can be written, before the server starts, and deletes that of a server that was killed.
   * @throws Error that names --port-file.
   */
  prepare(): Promise<void> {
    return this.#describingErrors(async () => {
      const stats = await stat(this.#path).catch(() => undefined);
      if (stats?.isDirectory()) throw Object.assign(new Error('a folder'), { code: 'EISDIR' });
      await (await createFile(this.#draft)).close();
      await rm(this.#draft);
      if (await this.#isOfEndedProcess()) await rm(this.#path, { force: true });
    });
  }

  /** Writes the line atomically: a reader never sees a part of it. @throws Error that names --port-file. */
  write(line: string): Promise<void> {
    return this.#describingErrors(async () => {
      await writeAtomic(this.#path, line, this.#draft);
      this.#line = line;
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#line === undefined) return;
    // Errors are ignored: the server is ending anyway.
    const line = await readFile(this.#path, 'utf8').catch(() => undefined);
    // Another server that was started in the meantime may have written its own line: keep that.
    if (line === this.#line) await rm(this.#path, { force: true }).catch(() => undefined);
  }

  async #isOfEndedProcess(): Promise<boolean> {
    try {
      const { pid } = Object(JSON.parse(await readFile(this.#path, 'utf8'))) as { readonly pid?: unknown };
      return Number.isInteger(pid) && Number(pid) > 0 && !isProcessAlive(Number(pid));
    } catch {
      return false;
    }
  }

  async #describingErrors(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (cause) {
      const { code = '' } = cause as NodeJS.ErrnoException;
      const noFolder = code === 'ENOENT' || code === 'ENOTDIR';
      const reason = noFolder ? `there is no folder ${dirname(resolve(this.#path))}` : describeFsError(cause);
      throw new Error(`--port-file ${this.#path} cannot be written: ${reason}`, { cause });
    }
  }
}
