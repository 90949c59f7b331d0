import type { StateFile, StateFiles } from '../llama/kvCache/stateFiles.ts';
import type { ServerRequests } from './messages.ts';
import type { RequestHandlers } from './peer.ts';
import type { PromptFiles } from '../llama/promptCache/promptFiles.ts';

type StateRequest = 'reserveState' | 'commitState' | 'beginReadState' | 'dropState' | 'stateFailed';

/** The KV state files of one engine process, owned by the server process. */
export class StateService implements AsyncDisposable {
  readonly #states: StateFiles | undefined;
  readonly #onEvict: (id: number) => void;
  readonly #files = new Map<number, StateFile>();
  #lastId = 0;
  #disposed = false;

  /** @param onEvict is called when a file was deleted to make room for others. */
  constructor(states: StateFiles | undefined, onEvict: (id: number) => void) {
    this.#states = states;
    this.#onEvict = onEvict;
  }

  readonly handlers: Pick<RequestHandlers<ServerRequests>, StateRequest> = {
    reserveState: ({ params: { bytes } }) => this.#reserve(bytes),
    commitState: ({ params: { id, bytes } }) => this.#files.get(id)?.commit(bytes),
    beginReadState: ({ params: { id } }) => this.#files.get(id)?.beginRead(),
    dropState: async ({ params: { id } }) => {
      const file = this.#files.get(id);
      this.#files.delete(id);
      await file?.drop();
    },
    stateFailed: ({ params: { reason } }) => this.#states?.writeFailed(reason),
  };

  /** Deletes the files of a process that has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    const files = [...this.#files.values()];
    this.#files.clear();
    await Promise.all(files.map((file) => file.drop()));
  }

  async #reserve(bytes: number): Promise<{ readonly id: number; readonly path: string } | undefined> {
    const id = ++this.#lastId;
    const onDrop = (): void => {
      if (this.#files.delete(id)) this.#onEvict(id);
    };
    const file = await this.#states?.reserve(bytes, onDrop);
    if (!file) return undefined;
    this.#files.set(id, file);
    if (this.#disposed) await this[Symbol.asyncDispose]();
    return { id, path: file.path };
  }
}

type PromptRequest = 'listPrompts' | 'createPrompt' | 'finishPrompt' | 'openPrompt' | 'closePrompt';

/** The prompt cache files that one engine process uses, owned by the server process. */
export class PromptService implements AsyncDisposable {
  readonly #prompts: PromptFiles | undefined;
  readonly #drafts = new Set<string>();
  /** The ids of the files that the process reads; one that it reads twice is here twice. */
  readonly #open: string[] = [];
  #disposed = false;

  constructor(prompts: PromptFiles | undefined) {
    this.#prompts = prompts;
  }

  readonly handlers: Pick<RequestHandlers<ServerRequests>, PromptRequest> = {
    listPrompts: async ({ params: { key } }) => (await this.#prompts?.list(key)) ?? [],
    createPrompt: async ({ params }) => {
      const created = await this.#prompts?.create(params);
      if (created) this.#drafts.add(created.draft);
      if (this.#disposed) await this[Symbol.asyncDispose]();
      return created;
    },
    finishPrompt: async ({ params: { draft, error } }) => {
      this.#drafts.delete(draft);
      return this.#prompts?.finish(draft, error);
    },
    openPrompt: async ({ params: { id } }) => {
      const path = await this.#prompts?.open(id);
      if (path !== undefined) this.#open.push(id);
      if (this.#disposed) await this[Symbol.asyncDispose]();
      return path;
    },
    closePrompt: async ({ params: { id, isUsable } }) => {
      const index = this.#open.indexOf(id);
      if (index >= 0) this.#open.splice(index, 1);
      await this.#prompts?.close(id, isUsable);
    },
  };

  /** Closes what a process that has ended was reading and writing. A file that it was reading may have made it crash. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#disposed = true;
    const drafts = [...this.#drafts];
    this.#drafts.clear();
    await Promise.all(drafts.map((draft) => this.#prompts?.finish(draft, 'the engine process has ended')));
    await Promise.all(this.#open.splice(0).map((id) => this.#prompts?.close(id, false)));
  }
}
