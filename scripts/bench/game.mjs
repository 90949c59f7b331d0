// Game: a process that renders frames of fixed work as fast as it can, on one core or on several.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('game/child.mjs', import.meta.url));

/** Starts the process. `framesPerSecond` counts frames for some milliseconds; `close` ends it. */
export async function startGame(threads) {
  const child = fork(program, [String(threads)], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  const read = async () => {
    child.send('frames');
    const ended = exited.then(([code]) => {
      throw new Error(`the game ended with ${code}`);
    });
    const [count] = await Promise.race([once(child, 'message'), ended]);
    return count;
  };
  return {
    async framesPerSecond(ms) {
      const before = await read();
      await wait(ms);
      const after = await read();
      return ((after.frames - before.frames) * 1000) / (after.ms - before.ms);
    },
    async close() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
