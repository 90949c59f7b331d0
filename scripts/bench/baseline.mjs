// The other side of every ratio: a bare loop over node-llama-cpp in a process of its own.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('baseline/child.mjs', import.meta.url));

/** Starts the process and opens the model in it; `ask` then runs an operation of bare/operations.mjs. */
export async function startBare(options) {
  const child = fork(program, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  const ask = async (name, given) => {
    child.send({ name, given });
    const ended = exited.then(([code]) => {
      throw new Error(`the bare loop ended with ${code}`);
    });
    const [{ result, failure }] = await Promise.race([once(child, 'message'), ended]);
    if (failure !== undefined) throw new Error(`the bare loop failed: ${failure}`);
    return result;
  };
  const close = async () => {
    if (child.connected) child.disconnect();
    await exited;
  };
  try {
    const { threads } = await ask('open', options);
    return { ask, threads, pid: child.pid, close };
  } catch (error) {
    await close();
    throw error;
  }
}
