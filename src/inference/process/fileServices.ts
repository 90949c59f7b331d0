import type { CacheFiles, StateFile } from '../llama/cacheFiles.ts';
import type { ServerRequests } from './messages.ts';
import type { RequestHandlers } from './peer.ts';

/**
 * The files of KV states and of the prompt cache that one engine process uses, owned by the server process. Disposing of it
 * deletes the states of a process that has ended, and what it was reading of the prompt cache: that may have made it crash.
 * @param onEvict is called when the file of a state was deleted to make room for others.
 */
export function fileService(files: CacheFiles | undefined, onEvict: (path: string) => void) {
  const states = new Map<string, StateFile>();
  // The ids of the prompts that the process reads; one that it reads twice is here twice.
  const open: string[] = [];
  let isDisposed = false;
  const dispose = async (): Promise<void> => {
    isDisposed = true;
    const dropped = [...states.values()];
    states.clear();
    await Promise.all(dropped.map((file) => file.drop()));
    await Promise.all(open.splice(0).map((id) => files?.prompts.close(id, false)));
  };
  const handlers = {
    reserveState: async ({ params: { bytes } }) => {
      const file = await files?.states.reserve(bytes, () => {
        if (file && states.delete(file.path)) onEvict(file.path);
      });
      if (!file) return undefined;
      states.set(file.path, file);
      if (isDisposed) await dispose();
      return file.path;
    },
    commitState: ({ params: { path, bytes } }) => states.get(path)?.commit(bytes),
    beginReadState: ({ params: { path } }) => states.get(path)?.beginRead(),
    dropState: async ({ params: { path } }) => {
      const file = states.get(path);
      states.delete(path);
      await file?.drop();
    },
    stateFailed: ({ params: { reason } }) => files?.states.writeFailed(reason),
    listPrompts: async ({ params: { key } }) => (await files?.prompts.list(key)) ?? [],
    savePrompt: async ({ params: { path, ...prompt } }) => {
      const file = states.get(path);
      return file && files?.prompts.save(prompt, file);
    },
    openPrompt: async ({ params: { id } }) => {
      const path = await files?.prompts.open(id);
      if (path !== undefined) open.push(id);
      if (isDisposed) await dispose();
      return path;
    },
    closePrompt: async ({ params: { id, isUsable } }) => {
      const index = open.indexOf(id);
      if (index >= 0) open.splice(index, 1);
      await files?.prompts.close(id, isUsable);
    },
  } satisfies Partial<RequestHandlers<ServerRequests>>;
  return { handlers, [Symbol.asyncDispose]: dispose };
}
