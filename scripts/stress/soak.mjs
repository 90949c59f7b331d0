// Half an hour of many clients: no error, no memory or handle lost, and nothing left when all have gone.
import { leftOver } from './counters.mjs';
import { liveFor, newTally } from './clientScenario.mjs';
import { within } from './timeouts.mjs';
import { lookAt } from './procStats.mjs';
import { chanceFrom } from '../seededRandom.mjs';
import { speakingAtOnce } from './slotCheck.mjs';
import { trendOf } from './leakDetection.mjs';

export const name = 'soak';
export const summary = 'many clients for a long time';
export const defaults = { minutes: 30, agents: 32 };

const slots = 4;
const sampleSeconds = 5;
// A server opens some handles for good when they are first needed.
const handlesOfItsOwn = 4;
// Before that a server is still warming up: every slot, and every path of the code, is used for the first time.
const leastMinutes = 4;

/** Runs over a server of its own. */
export async function run({ model, serve }, { minutes, agents, seed, log }) {
  const server = await serve({ slots: slots, preload: model, 'max-connections': 2 * agents + 8 });
  const before = await lookAt(server.pid);
  const tally = newTally();
  const end = performance.now() + minutes * 60_000;
  const samples = [];
  const sampler = sampling(server.pid, { samples, tally, log, every: Math.min(sampleSeconds, minutes) });
  const lives = Array.from({ length: agents }, (_, index) =>
    liveFor({
      server,
      end,
      codec: index % 2 ? 'json' : 'proto',
      chance: chanceFrom(seed * 1000 + index),
      tally,
      model,
    }),
  );
  await Promise.all(lives);
  clearInterval(sampler);
  return conclude({ server, before, samples, tally, model, minutes });
}

function sampling(pid, { samples, tally, log, every }) {
  const began = performance.now();
  return setInterval(async () => {
    const seen = await lookAt(pid);
    const seconds = (performance.now() - began) / 1000;
    const megabytes = seen ? (seen.bytes / 1e6).toFixed(1) : '?';
    if (seen) samples.push({ seconds, ...seen });
    log(
      `${megabytes} MB, ${seen?.handles ?? '?'} handles, ${tally.turns} turns, ${tally.sessions} sessions, ${tally.faults.length} faults`,
    );
  }, every * 1000);
}

async function conclude({ server, before, samples, tally, model, minutes }) {
  const { faults: found, ...counts } = tally;
  const faults = [...found, ...(await leftOver(server, model)).map((left) => `at the end ${left}`)];
  const after = await lookAt(server.pid);
  if (before && after && after.handles > before.handles + handlesOfItsOwn)
    faults.push(`${before.handles} handles were open before the first client, and ${after.handles} after the last`);
  const atOnce = await speakingAtOnce(server, slots, model);
  if (atOnce < slots) faults.push(`only ${atOnce} of ${slots} slots were to be had at the end`);
  const memory = trendOf(samples.map(({ seconds, bytes }) => ({ seconds, value: bytes / 1e6 })));
  const judged = minutes >= leastMinutes && memory.enough;
  if (judged && memory.rising) faults.push(`memory rises by ${memory.perHour.slope.toFixed(1)} MB an hour`);
  const handles = trendOf(samples.map(({ seconds, handles: value }) => ({ seconds, value })));
  if (judged && handles.rising) faults.push(`open handles rise by ${handles.perHour.slope.toFixed(1)} an hour`);
  const drained = await drain(server, model, faults);
  faults.push(...server.complaints.map((line) => `the server logged ${line}`));
  const notes = judged ? [] : [`memory and handles are judged from ${leastMinutes} minutes on, where there is a /proc`];
  const stats = {
    ...counts,
    handles: { before: before?.handles, after: after?.handles },
    megabytes: memory,
    drained,
  };
  return { ok: faults.length === 0, figures: stats, notes, faults };
}

/** Ends the server in the middle of a turn, which it has to let end. */
async function drain(server, model, faults) {
  const client = await server.connect('proto');
  const agent = await client.createAgent({ graphName: 'chat', defaultModelName: model });
  const turn = agent.send('Tell me a story.');
  for await (const _ of turn.text) break;
  const [{ code, seconds }, last, closing] = await Promise.all([
    server.stop(),
    within(20, 'the last turn', turn.done).catch((error) => error),
    within(20, 'the goodbye of the server', client.closed).catch((error) => error),
  ]);
  if (code !== 0) faults.push(`after SIGTERM the server ended with ${code}`);
  if (last.status !== 'SUCCESS') faults.push(`the turn that ran at SIGTERM ended as ${last.status ?? last.message}`);
  if (closing.code !== 1001) faults.push(`at SIGTERM the socket was closed with ${closing.code ?? closing.message}`);
  return { exitCode: code, seconds };
}
