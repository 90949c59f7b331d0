import type { StateFile, StateFiles } from '../llama/kvCache/stateFiles.ts';
import type { ServerRequests } from './messages.ts';
import type { RequestHandlers } from './peer.ts';

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
    commitState: ({ params: { id, bytes } }) => {
      this.#files.get(id)?.commit(bytes);
      return undefined;
    },
    beginReadState: ({ params: { id } }) => {
      this.#files.get(id)?.beginRead();
      return undefined;
    },
    dropState: async ({ params: { id } }) => {
      const file = this.#files.get(id);
      this.#files.delete(id);
      await file?.drop();
      return undefined;
    },
    stateFailed: ({ params: { reason } }) => {
      this.#states?.writeFailed(reason);
      return undefined;
    },
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
