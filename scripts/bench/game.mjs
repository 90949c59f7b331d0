// Game: a process that renders frames of fixed work, on one core or on several: as fast as it can, or one after each other at
// an interval.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const program = fileURLToPath(new URL('game/child.mjs', import.meta.url));

/**
 * Starts the process. `framesPerSecond` counts frames for some milliseconds; `frameTimes` has the milliseconds of the frames since
 * its last call; `close` ends it.
 * @param interval frames begin `targetMs` apart, and take `share` of that on idle cores. Absent: as fast as they can.
 */
export async function startGame(threads, { targetMs = 0, share = 0 } = {}) {
  const settings = [threads, targetMs, share].map(String);
  const child = fork(program, settings, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const exited = once(child, 'exit');
  await once(child, 'message');
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
    frameTimes: async () => (await read()).times,
    async close() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
