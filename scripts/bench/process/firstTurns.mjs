// First token and memory (model demo), on servers of their own for each round.
//
// First turn: a client connects, the server is idle for 2 seconds; from then, creating an agent, loading the model, prefill
// and one token. First token: all of it from the spawn of `serve`, without a pause. Memory: the resident memory of the server
// process and all below it, pages that they share counted for each: after the 2 seconds, after the answer, and after the
// model is unloaded. `private` is without mapped files, as the model's and those of the libraries. Only on Linux.
import { setTimeout as wait } from 'node:timers/promises';
import { timeTurn, generateGraph } from '../client.mjs';
import { measureInterleaved, medianOf } from '../results.mjs';
import { readMemoryBytes } from '../server.mjs';
import { processTree, readProcStats } from '../../stress/procStats.mjs';
import { engines, processResult, startEngine } from './sides.mjs';

const idleMs = 2000;
// Freed memory is returned to the system a moment later.
const settleMs = 500;
const slots = 4;
const times = ['idle', 'loaded', 'unloaded'];

/** Measures both sides. */
export async function firstTurns(bench) {
  bench.log('first token and memory');
  const options = { file: await bench.file('demo'), flags: { slots, 'model-idle': 0 } };
  const sides = Object.fromEntries(engines.map((engine) => [engine, () => measure(bench, engine, options)]));
  const rounds = await measureInterleaved(sides, bench.repeats(9, 3));
  const later = (of, pick, goal) => {
    const [childMs, inMs] = engines.map((engine) => medianOf(rounds[engine], pick));
    return processResult({ of, ratio: childMs - inMs, unit: 'ms', goal, better: 'lower', childMs, inMs });
  };
  const results = [
    later('first turn after 2 s, demo', (round) => round.firstTurn, 150),
    later('serve to first token, demo', (round) => round.fromStart, null),
  ];
  if (rounds.in[0].memory) return [...results, ...memoryResults(rounds)];
  bench.log('the memory of a process tree cannot be read on this system');
  return results;
}

async function measure(bench, engine, options) {
  const atOnce = await startEngine(bench, engine, options);
  const { client, answered } = await answerFirst(bench, atOnce);
  await client.close();
  await bench.close();

  const server = await startEngine(bench, engine, options);
  const idle = await bench.client(server);
  await wait(idleMs);
  const memory = [await readMemory(server.pid)];
  const start = performance.now();
  const first = await answerFirst(bench, server, idle);
  memory.push(await readMemory(server.pid));
  await first.agent.destroy();
  await idle.unloadModel('bench');
  await wait(settleMs);
  memory.push(await readMemory(server.pid));
  await bench.close();
  return {
    fromStart: answered - atOnce.start,
    firstTurn: first.answered - start,
    memory: memory[0] && Object.fromEntries(times.map((time, at) => [time, memory[at]])),
  };
}

/** Creates the first agent of a server; returns when its first piece of text came. */
async function answerFirst(bench, server, connected) {
  const client = connected ?? (await bench.client(server));
  const agent = await client.createAgent({ graph: generateGraph(8) });
  const sent = performance.now();
  const { first } = await timeTurn(agent, 'Hello!');
  return { client, agent, answered: sent + first };
}

async function readMemory(pid) {
  const resident = await readProcStats(pid);
  if (!resident) return undefined;
  const each = await Promise.all((await processTree(pid)).map(readMemoryBytes));
  return { megabytes: resident.bytes / 1e6, privateMegabytes: each.reduce((sum, bytes) => sum + bytes, 0) / 1e6 };
}

function memoryResults(rounds) {
  const read = (engine, time, unit) => medianOf(rounds[engine], ({ memory }) => memory[time][unit]);
  const each = engines.flatMap((engine) =>
    times.map((time) =>
      processResult({
        of: `memory, ${engine}, ${time}`,
        ratio: read(engine, time, 'megabytes'),
        unit: 'MB',
        goal: null,
        better: 'lower',
        privateMB: read(engine, time, 'privateMegabytes'),
      }),
    ),
  );
  const left = engines.map((engine) =>
    processResult({
      of: `memory, ${engine}, unloaded / idle`,
      ratio: read(engine, 'unloaded', 'megabytes') / read(engine, 'idle', 'megabytes'),
      goal: engine === 'child' ? 1.05 : null,
      better: 'lower',
    }),
  );
  return [...each, ...left];
}
