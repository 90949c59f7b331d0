// Stress test `soak`: many clients for half an hour; checks errors, leaks of memory and handles, and released resources.
import { findLeftovers } from './counters.mjs';
import { runClient, newTally } from './clientScenario.mjs';
import { withTimeout } from './timeouts.mjs';
import { readProcStats } from './procStats.mjs';
import { createRng } from '../seededRandom.mjs';
import { countConcurrentTurns } from './slotCheck.mjs';
import { trendOf } from './leakDetection.mjs';
import { startChaos } from './soakChaos.mjs';

export const name = 'soak';
export const defaults = { minutes: 30, agents: 32 };

const slots = 4;
// Cut clients need longer than a second to come back.
const chaosGraceSeconds = 5;
const sampleIntervalSeconds = 5;
// A server opens some handles on first use and keeps them open.
const maxNewHandles = 4;
// Before that the server is warming up: slots and code paths are used for the first time.
const minMinutesToJudge = 4;

/** Starts a server and runs the clients. */
export async function run({ model, serve }, { minutes, agents, seed, chaos: isChaos = false, log }) {
  const grace = isChaos && { 'resume-grace': chaosGraceSeconds };
  const server = await serve({ slots, preload: model, 'max-connections': 2 * agents + 8, ...grace });
  const chaos = isChaos ? await startChaos(server, seed) : undefined;
  // Engine processes come and go in chaos: their memory is judged without it.
  const readStats = () => readProcStats(server.pid, { isAlone: isChaos });
  const before = await readStats();
  const tally = newTally();
  const end = performance.now() + minutes * 60_000;
  const samples = [];
  const sampler = startSampling(readStats, { samples, tally, log, every: Math.min(sampleIntervalSeconds, minutes) });
  const clients = Array.from({ length: agents }, (_, index) =>
    runClient({
      server,
      end,
      codec: index % 2 ? 'json' : 'proto',
      rng: createRng(seed * 1000 + index),
      tally,
      model,
      // Half of the clients are cut, and resume.
      chaos: chaos && { url: index % 4 < 2 ? chaos.url : undefined },
    }),
  );
  await Promise.all(clients);
  await chaos?.stop();
  clearInterval(sampler);
  const result = await conclude({ server, before, samples, tally, model, minutes, readStats, chaos: chaos?.counts() });
  await chaos?.close();
  return result;
}

function startSampling(readStats, { samples, tally, log, every }) {
  const began = performance.now();
  return setInterval(async () => {
    const process = await readStats();
    const seconds = (performance.now() - began) / 1000;
    const megabytes = process ? (process.bytes / 1e6).toFixed(1) : '?';
    if (process) samples.push({ seconds, ...process });
    log(
      `${megabytes} MB, ${process?.handles ?? '?'} handles, ${tally.turns} turns, ${tally.sessions} sessions, ${tally.faults.length} faults`,
    );
  }, every * 1000);
}

async function conclude({ server, before, samples, tally, model, minutes, readStats, chaos }) {
  const { faults: found, ...counts } = tally;
  const faults = [...found, ...(await findLeftovers(server, model)).map((left) => `at the end ${left}`)];
  const after = await readStats();
  if (before && after && after.handles > before.handles + maxNewHandles)
    faults.push(`${before.handles} handles were open before the first client, and ${after.handles} after the last`);
  const available = await countConcurrentTurns(server, slots, model);
  if (available < slots) faults.push(`only ${available} of ${slots} slots were available at the end`);
  const memory = trendOf(samples.map(({ seconds, bytes }) => ({ seconds, value: bytes / 1e6 })));
  const judged = minutes >= minMinutesToJudge && memory.enough;
  if (judged && memory.rising) faults.push(`memory rises by ${memory.perHour.slope.toFixed(1)} MB an hour`);
  const handles = trendOf(samples.map(({ seconds, handles: value }) => ({ seconds, value })));
  if (judged && handles.rising) faults.push(`open handles rise by ${handles.perHour.slope.toFixed(1)} an hour`);
  const drained = await stopDuringTurn(server, model, faults);
  const crashLines = server.errorLines.filter((line) => line.includes('an engine process has crashed'));
  const signalled = chaos ? chaos.killed + chaos.stopped : 0;
  if (crashLines.length > signalled)
    faults.push(`${crashLines.length} engine processes crashed, and ${signalled} were signalled: ${crashLines.at(-1)}`);
  const otherLines = server.errorLines.filter((line) => !crashLines.includes(line));
  faults.push(...otherLines.map((line) => `the server logged ${line}`));
  const notes = judged
    ? []
    : [`memory and handles are judged from ${minMinutesToJudge} minutes on, on systems with /proc`];
  const stats = {
    ...counts,
    handles: { before: before?.handles, after: after?.handles },
    megabytes: memory,
    drained,
    ...(chaos && { chaos }),
  };
  return { ok: faults.length === 0, figures: stats, notes, faults };
}

/** Stops the server during a turn, which it has to complete (graceful shutdown). */
async function stopDuringTurn(server, model, faults) {
  const client = await server.connect('proto');
  const agent = await client.createAgent({ graphName: 'chat', defaultModelName: model });
  const turn = agent.send('Tell me a story.');
  for await (const _ of turn.text) break;
  const [{ code, seconds }, last, closing] = await Promise.all([
    server.stop(),
    withTimeout(20, 'the last turn', turn.done).catch((error) => error),
    withTimeout(20, 'the close frame of the server', client.closed).catch((error) => error),
  ]);
  if (code !== 0) faults.push(`after SIGTERM the server ended with ${code}`);
  if (last.status !== 'SUCCESS') faults.push(`the turn that ran at SIGTERM ended as ${last.status ?? last.message}`);
  if (closing.code !== 1001) faults.push(`at SIGTERM the socket was closed with ${closing.code ?? closing.message}`);
  return { exitCode: code, seconds };
}
