// Preload hooks (node --import) for the server process and the processes that it starts.
import { isMainThread } from 'node:worker_threads';

/** The environment variables with which a process loads hooks of this folder. */
export function hookEnvironment(hooks) {
  const imports = hooks.map((hook) => `--import=${new URL(hook, import.meta.url).href}`);
  return { NODE_OPTIONS: [process.env.NODE_OPTIONS, ...imports].filter(Boolean).join(' ') };
}

// node-llama-cpp tests its binary in a child process with a short timeout.
const isBindingTest = process.argv[1]?.includes('testBindingBinary');

/** Whether hooks apply to this process. */
export const isServerProcess = isMainThread && !isBindingTest;
