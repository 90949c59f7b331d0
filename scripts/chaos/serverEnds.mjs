// Case `server`: the server is killed, or told to end; its engine processes end with it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { connect } from 'turngraph/client';
import { storyGraph } from './story.mjs';
import { modelNames, writeTwoModels } from './twoModels.mjs';
import { findEngineProcesses, isRunning, signalProcess, untilGone } from './processes.mjs';

export const name = 'server';
export const defaults = { count: 5 };

const cli = fileURLToPath(new URL('../../dist/cli/turngraph.js', import.meta.url));
/** Within this time after the end of the server no engine process may be left. */
const limitSeconds = 2;
/** Within this time a server that is told to end must do so: a drain of up to 5 s, and the pace at which it looks. */
const endLimitSeconds = 10;

/** Ends servers in each way, `count` times: idle, or in the middle of a turn. `patience` is a factor of all time limits. */
export async function run({ file }, { count, patience = 1, log }) {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-chaos-'));
  const catalogue = await writeTwoModels(folder, file);
  const figures = { ends: 0, engineProcesses: 0, slowestSeconds: 0 };
  const faults = [];
  for (const [way, { start, end }] of Object.entries(ways)) {
    for (let index = 0; index < count; index++) {
      const title = `${way}, ${index % 2 === 0 ? 'idle' : 'in a turn'}`;
      const cache = join(folder, `cache-${figures.ends}`);
      const parts = await start([
        '--catalogue',
        catalogue,
        '--cache',
        cache,
        '--slots',
        '1',
        '--threads',
        '1',
        '--gpu',
        'off',
      ]);
      const { client, engines } = await useBothModels(parts, index % 2 === 1);
      if (engines.length !== 2) faults.push(`${title}: two models have ${engines.length} engine processes`);
      await end(parts);
      const server = await untilGone([parts.pid], endLimitSeconds * patience);
      if (server.left.length > 0) faults.push(`${title}: the server was there after ${endLimitSeconds * patience} s`);
      const { seconds, left } = await untilGone(engines, limitSeconds * patience);
      if (left.length > 0) faults.push(`${title}: engine processes ${left.join(', ')} were left after ${seconds} s`);
      for (const pid of [parts.pid, ...left]) if (await isRunning(pid)) signalProcess(pid, 'SIGKILL');
      if (parts.parent) signalProcess(parts.parent.pid, 'SIGKILL');
      await client.close();
      figures.ends++;
      figures.engineProcesses += engines.length;
      figures.slowestSeconds = Math.max(figures.slowestSeconds, seconds);
    }
    log(`${way}: ${count} times`);
  }
  await rm(folder, { recursive: true });
  return { ok: faults.length === 0, figures, faults };
}

/** Starts a server, and resolves with its process when it listens. */
async function startWith(args, stdin = 'ignore') {
  const child = spawn(process.execPath, [cli, 'serve', '--json', '--port', '0', '--log-level', 'error', ...args], {
    stdio: [stdin, 'pipe', 'inherit'],
  });
  const [line] = await once(createInterface(child.stdout), 'line');
  return { child, ...JSON.parse(line) };
}

/** Ways to end a server, by how it is started and what is done. */
const ways = {
  'kill -9': { start: (args) => startWith(args), end: ({ pid }) => signalProcess(pid, 'SIGKILL') },
  '--stdin': { start: (args) => startWith([...args, '--stdin'], 'pipe'), end: ({ child }) => child.stdin.end() },
  '--parent-pid': {
    async start(args) {
      const parent = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' });
      return { parent, ...(await startWith([...args, '--parent-pid', parent.pid])) };
    },
    end: ({ parent }) => signalProcess(parent.pid, 'SIGKILL'),
  },
};

/** Loads both models, one agent each, and starts a turn of each. Returns the engine processes. */
async function useBothModels({ port, pid }, inTurn) {
  const client = await connect(`ws://127.0.0.1:${port}`);
  for (const defaultModelName of modelNames) {
    const agent = await client.createAgent({ graph: storyGraph(0, inTurn ? 16 : 1), defaultModelName, warmUp: true });
    // Ends with the server.
    if (inTurn) agent.send('Tell me a story.').done.catch(() => {});
  }
  return { client, engines: await findEngineProcesses(pid) };
}
