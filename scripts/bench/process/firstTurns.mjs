// First token and memory (model demo), on servers of their own for each round.
//
// First turn: a client connects, the server is idle for 2 seconds; from then, creating an agent, loading the model, prefill
// and one token. First token: all of it from the spawn of `serve`, without a pause. Memory: the resident memory of the server
// process and all below it, pages that they share counted for each: after the 2 seconds, after the answer, after the model is
// unloaded, and after it is loaded, answers and is unloaded once more. The last two are the same if unloading returns all
// memory; an idle server with engine processes has one in reserve for the first model. `private` is without mapped files, as
// the model's and those of the libraries. Only on Linux.
//
// Second load: as the first turn, but after the model was unloaded: there is no process in reserve then.
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
const times = ['idle', 'loaded', 'unloaded', 'unloaded again'];

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
    later('first turn after unload, demo', (round) => round.secondLoad, null),
    later('serve to first token, demo', (round) => round.fromStart, null),
  ];
  if (rounds.in[0].memory) return [...results, ...memoryResults(rounds)];
  bench.log('the memory of a process tree cannot be read on this system');
  return results;
}

async function measure(bench, engine, options) {
  const atOnce = await startEngine(bench, engine, options);
  const { answered } = await answerFirst(await bench.client(atOnce));
  await bench.close();

  const server = await startEngine(bench, engine, options);
  const client = await bench.client(server);
  await wait(idleMs);
  const memory = [await readMemory(server.pid)];
  const first = await answerFirst(client);
  memory.push(await readMemory(server.pid));
  await unload(client, first.agent);
  memory.push(await readMemory(server.pid));
  const second = await answerFirst(client);
  await unload(client, second.agent);
  memory.push(await readMemory(server.pid));
  await bench.close();
  return {
    fromStart: answered - atOnce.start,
    firstTurn: first.ms,
    secondLoad: second.ms,
    memory: memory[0] && Object.fromEntries(times.map((time, at) => [time, memory[at]])),
  };
}

/** Creates an agent, for which the model is loaded; returns when its first piece of text came, and after how long. */
async function answerFirst(client) {
  const start = performance.now();
  const agent = await client.createAgent({ graph: generateGraph(8) });
  const sent = performance.now();
  const answered = sent + (await timeTurn(agent, 'Hello!')).first;
  return { agent, answered, ms: answered - start };
}

async function unload(client, agent) {
  await agent.destroy();
  await client.unloadModel('bench');
  await wait(settleMs);
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
  const left = engines.flatMap((engine) =>
    [
      ['unloaded', 'idle'],
      ['unloaded again', 'unloaded'],
    ].map(([time, before]) =>
      processResult({
        of: `memory, ${engine}, ${time} / ${before}`,
        ratio: read(engine, time, 'megabytes') / read(engine, before, 'megabytes'),
        goal: engine === 'child' ? 1.05 : null,
        better: 'lower',
      }),
    ),
  );
  return [...each, ...left];
}
