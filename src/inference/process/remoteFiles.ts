import { describeError } from '../../protocol/fault.ts';
import type { StateFile, StateFiles } from '../llama/kvCache/stateFiles.ts';
import type { Peer } from './peer.ts';
import type { EngineRequests, ServerRequests } from './messages.ts';
import type { PromptFiles } from '../llama/promptCache/promptFiles.ts';
import type { SlotResizing } from '../contract/memory.ts';

/** An engine process's side of the connection. */
export type EnginePeer = Peer<ServerRequests, EngineRequests>;

/**
 * The files of KV states, as an engine process sees them: the server process owns the files and the quota of all engine
 * processes, and deletes those of a process that has crashed. This process writes and reads them.
 */
export class RemoteStateFiles implements StateFiles {
  readonly #peer: EnginePeer;
  /** By path. */
  readonly #onDrop = new Map<string, () => void>();

  constructor(peer: EnginePeer) {
    this.#peer = peer;
  }

  async reserve(bytes: number, onDrop: () => void): Promise<StateFile | undefined> {
    const path = await this.#peer.request('reserveState', { bytes }).result;
    if (path === undefined) return undefined;
    this.#onDrop.set(path, onDrop);
    return {
      path,
      commit: (size) => this.#peer.tell('commitState', { path, bytes: size }),
      beginRead: () => this.#peer.tell('beginReadState', { path }),
      drop: async () => {
        this.dropped(path);
        await this.#peer.request('dropState', { path }).result;
      },
    };
  }

  writeFailed(error: unknown): void {
    this.#peer.tell('stateFailed', { reason: describeError(error) });
  }

  /** A file was dropped or evicted. */
  dropped(path: string): void {
    const onDrop = this.#onDrop.get(path);
    this.#onDrop.delete(path);
    onDrop?.();
  }
}

/** The files of the prompt cache, as an engine process sees them: the server process owns and checks them. */
export const remotePromptFiles = (peer: EnginePeer): PromptFiles => ({
  list: (key) => peer.request('listPrompts', { key }).result,
  save: (prompt, { path }) => peer.request('savePrompt', { ...prompt, path }).result,
  open: (id) => peer.request('openPrompt', { id }).result,
  close: (id, isUsable) => peer.request('closePrompt', { id, isUsable }).result,
});

/** The resizing of the model, as an engine process sees it: the server process has the memory budget and the log. */
export const remoteResizing = (peer: EnginePeer): SlotResizing => ({
  requestMemory: (use) => peer.request('requestMemory', { use }).result,
  onResized: (stats) => peer.tell('resized', { stats }),
});
