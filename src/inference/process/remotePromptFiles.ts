import type { NewPrompt, PromptFiles, SavedPrompt } from '../llama/promptCache/promptFiles.ts';
import type { EnginePeer } from './remoteStateFiles.ts';

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
