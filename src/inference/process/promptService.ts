import type { PromptFiles } from '../llama/promptCache/promptFiles.ts';
import type { ServerRequests } from './messages.ts';
import type { RequestHandlers } from './peer.ts';

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
      return undefined;
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
