// Files that are loaded into a server, and so into any process that it starts.
import { isMainThread } from 'node:worker_threads';

/** What a process needs in its environment to load hooks of this folder. */
export function environmentWith(hooks) {
  const imports = hooks.map((hook) => `--import=${new URL(hook, import.meta.url).href}`);
  return { NODE_OPTIONS: [process.env.NODE_OPTIONS, ...imports].filter(Boolean).join(' ') };
}

// node-llama-cpp tries its binary out in a process of its own, which has no time for anything else.
const isTryout = process.argv[1]?.includes('testBindingBinary');

/** Whether this process is one to look into. */
export const isOfInterest = isMainThread && !isTryout;
