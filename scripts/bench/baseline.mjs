// The baseline of every ratio: a plain node-llama-cpp generation loop in a process of its own.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('baseline/child.mjs', import.meta.url));

/** Starts the process and opens the model in it; `run` then runs an operation of baseline/operations.mjs. */
export async function startBaseline(options) {
  const child = fork(program, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  const run = async (name, options) => {
    child.send({ name, options });
    const ended = exited.then(([code]) => {
      throw new Error(`the baseline loop ended with ${code}`);
    });
    const [{ result, failure }] = await Promise.race([once(child, 'message'), ended]);
    if (failure !== undefined) throw new Error(`the baseline loop failed: ${failure}`);
    return result;
  };
  const close = async () => {
    if (child.connected) child.disconnect();
    await exited;
  };
  try {
    const { threads } = await run('open', options);
    return { run, threads, pid: child.pid, close };
  } catch (error) {
    await close();
    throw error;
  }
}
