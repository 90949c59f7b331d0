import type { CacheFiles } from '../llama/cacheFiles.ts';
import type { StateFile } from '../llama/kvCache/stateFiles.ts';
import type { ServerRequests } from './messages.ts';
import type { RequestHandlers } from './peer.ts';

type StateRequest = 'reserveState' | 'commitState' | 'beginReadState' | 'dropState' | 'stateFailed';
type PromptRequest = 'listPrompts' | 'savePrompt' | 'openPrompt' | 'closePrompt';

/** The files of KV states and of the prompt cache that one engine process uses, owned by the server process. */
export class FileService implements AsyncDisposable {
  readonly #files: CacheFiles | undefined;
  readonly #onEvict: (path: string) => void;
  /** By path. */
  readonly #states = new Map<string, StateFile>();
  /** The ids of the prompts that the process reads; one that it reads twice is here twice. */
  readonly #open: string[] = [];
  #disposed = false;

  /** @param onEvict is called when the file of a state was deleted to make room for others. */
  constructor(files: CacheFiles | undefined, onEvict: (path: string) => void) {
    this.#files = files;
    this.#onEvict = onEvict;
  }

  readonly handlers: Pick<RequestHandlers<ServerRequests>, StateRequest | PromptRequest> = {
    reserveState: ({ params: { bytes } }) => this.#reserve(bytes),
    commitState: ({ params: { path, bytes } }) => this.#states.get(path)?.commit(bytes),
    beginReadState: ({ params: { path } }) => this.#states.get(path)?.beginRead(),
    dropState: async ({ params: { path } }) => {
      const file = this.#states.get(path);
      this.#states.delete(path);
      await file?.drop();
    },
    stateFailed: ({ params: { reason } }) => this.#files?.states.writeFailed(reason),
    listPrompts: async ({ params: { key } }) => (await this.#files?.prompts.list(key)) ?? [],
    savePrompt: async ({ params: { path, ...prompt } }) => {
      const file = this.#states.get(path);
      return file && this.#files?.prompts.save(prompt, file);
    },
    openPrompt: async ({ params: { id } }) => {
      const path = await this.#files?.prompts.open(id);
      if (path !== undefined) this.#open.push(id);
      if (this.#disposed) await this[Symbol.asyncDispose]();
      return path;
    },
    closePrompt: async ({ params: { id, isUsable } }) => {
      const index = this.#open.indexOf(id);
      if (index >= 0) this.#open.splice(index, 1);
      await this.#files?.prompts.close(id, isUsable);
    },
  };

  /** Deletes the states of a process that has ended, and what it was reading of the prompt cache: that may have made it crash. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    const states = [...this.#states.values()];
    this.#states.clear();
    await Promise.all(states.map((file) => file.drop()));
    await Promise.all(this.#open.splice(0).map((id) => this.#files?.prompts.close(id, false)));
  }

  async #reserve(bytes: number): Promise<string | undefined> {
    const file = await this.#files?.states.reserve(bytes, () => {
      if (file && this.#states.delete(file.path)) this.#onEvict(file.path);
    });
    if (!file) return undefined;
    this.#states.set(file.path, file);
    if (this.#disposed) await this[Symbol.asyncDispose]();
    return file.path;
  }
}
