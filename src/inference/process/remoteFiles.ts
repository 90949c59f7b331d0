import { describeError } from '../../protocol/fault.ts';
import type { StateFile, StateFiles } from '../llama/kvCache/stateFiles.ts';
import type { Peer } from './peer.ts';
import type { EngineRequests, ServerRequests } from './messages.ts';
import type { NewPrompt, PromptFiles, SavedPrompt } from '../llama/promptCache/promptFiles.ts';
import type { SlotResizing } from '../contract/memory.ts';

/** An engine process's side of the connection. */
export type EnginePeer = Peer<ServerRequests, EngineRequests>;

/**
 * The files of KV states, as an engine process sees them: the server process owns the files and the quota of all engine
 * processes, and deletes those of a process that has crashed. This process writes and reads them.
 */
export class RemoteStateFiles implements StateFiles {
  readonly #peer: EnginePeer;
  /** By file id. */
  readonly #onDrop = new Map<number, () => void>();

  constructor(peer: EnginePeer) {
    this.#peer = peer;
  }

  async reserve(bytes: number, onDrop: () => void): Promise<StateFile | undefined> {
    const file = await this.#peer.request('reserveState', { bytes }).result;
    if (!file) return undefined;
    const { id, path } = file;
    this.#onDrop.set(id, onDrop);
    return {
      path,
      commit: (size) => this.#peer.tell('commitState', { id, bytes: size }),
      beginRead: () => this.#peer.tell('beginReadState', { id }),
      drop: async () => {
        this.dropped(id);
        await this.#peer.request('dropState', { id }).result;
      },
    };
  }

  writeFailed(error: unknown): void {
    this.#peer.tell('stateFailed', { reason: describeError(error) });
  }

  /** A file was dropped or evicted. */
  dropped(id: number): void {
    const onDrop = this.#onDrop.get(id);
    this.#onDrop.delete(id);
    onDrop?.();
  }
}

/** The files of the prompt cache, as an engine process sees them: the server process owns and checks them. */
export class RemotePromptFiles implements PromptFiles {
  readonly #peer: EnginePeer;

  constructor(peer: EnginePeer) {
    this.#peer = peer;
  }

  list(key: string): Promise<readonly SavedPrompt[]> {
    return this.#peer.request('listPrompts', { key }).result;
  }

  create(prompt: NewPrompt): Promise<{ readonly draft: string; readonly path: string } | undefined> {
    return this.#peer.request('createPrompt', prompt).result;
  }

  finish(draft: string, error: string | undefined): Promise<SavedPrompt | undefined> {
    return this.#peer.request('finishPrompt', { draft, error }).result;
  }

  open(id: string): Promise<string | undefined> {
    return this.#peer.request('openPrompt', { id }).result;
  }

  async close(id: string, isUsable: boolean): Promise<void> {
    await this.#peer.request('closePrompt', { id, isUsable }).result;
  }
}

/** The resizing of the model, as an engine process sees it: the server process has the memory budget and the log. */
export const remoteResizing = (peer: EnginePeer): SlotResizing => ({
  requestMemory: (use) => peer.request('requestMemory', { use }).result,
  onResized: (stats) => peer.tell('resized', { stats }),
});
