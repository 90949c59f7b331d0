// guest: frames per second of a game while a character speaks / while nobody does (model mid).
//
// The game is a process that renders frames of fixed work as fast as it can: on all cores, where a frame ends when all threads
// have done their part, and on one core. A server for each --process-priority has the model loaded; in each round the game is
// measured alone, and while each of them generates text. Frames are counted for 3 seconds, from a second after the first piece
// of text on, when the server has noticed that cores are busy. `tokensPerSecond` is what the character says meanwhile. Servers
// run with their defaults: an engine process, and threads of their own choice. It is checked that the engine process has the
// priority.
//
// by the frame: the 95th percentile of the frame times of a game while four characters speak / while nobody does. Its frames begin
// 16.7 ms apart, and need 70 % of all cores. In one half of the rounds the game reports its frames to the server.
import { constants, getPriority } from 'node:os';
import { setTimeout as wait } from 'node:timers/promises';
import { processTree } from '../../stress/procStats.mjs';
import { generateGraph } from '../client.mjs';
import { startGame } from '../game.mjs';
import { story } from '../prompts.mjs';
import { createResult, measureInterleaved, medianOf } from '../results.mjs';

const levels = {
  normal: constants.priority.PRIORITY_NORMAL,
  'below-normal': constants.priority.PRIORITY_BELOW_NORMAL,
  low: constants.priority.PRIORITY_LOW,
};
const settleMs = 1000;
const targetMs = 16.7;
const expiryMs = 6000;
// At the lowest priority on a busy machine the first token may take very long.
const maxFirstTokenMs = 10_000;

export const guest = {
  name: 'guest',
  async run(bench) {
    const file = await bench.file('mid');
    const agents = {};
    for (const priority of Object.keys(levels)) agents[priority] = await startSpeaker(bench, file, priority);
    const results = [];
    for (const [load, threads] of Object.entries({ 'all cores': bench.cores, 'one core': 1 })) {
      bench.log(`game on ${load}`);
      const game = bench.closeAtEnd(await startGame(threads));
      const countFrames = () => game.framesPerSecond(bench.repeats(3000, 1500));
      const sides = { alone: () => wait(settleMs).then(countFrames) };
      for (const [priority, agent] of Object.entries(agents))
        sides[priority] = () => whileSpeaking([agent], countFrames);
      const { alone, ...speaking } = await measureInterleaved(sides, bench.repeats(7, 2));
      await game.close();
      const aloneFps = medianOf(alone, (fps) => fps);
      for (const [priority, rounds] of Object.entries(speaking)) {
        const fps = medianOf(rounds, ({ measured }) => measured);
        const tokensPerSecond = medianOf(rounds, ({ rate }) => rate);
        const of = `mid, game on ${load}, ${priority}`;
        results.push(
          createResult({
            name: 'guest',
            of,
            ratio: fps / aloneFps,
            goal: null,
            better: 'higher',
            fps,
            aloneFps,
            tokensPerSecond,
          }),
        );
      }
    }
    return [...results, ...(await measureFrames(bench, file))];
  },
};

/** The rows of a game whose frames begin at an interval. */
async function measureFrames(bench, file) {
  bench.log('game by the frame');
  const server = await bench.server({
    file,
    contextSize: 2048,
    flags: { slots: 4, threads: undefined, 'engine-process': 'child' },
  });
  const client = await bench.client(server);
  const agents = [];
  for (let at = 0; at < 4; at++) agents.push(await client.createAgent({ graph: generateGraph(1000) }));
  const game = bench.closeAtEnd(await startGame(bench.cores, { targetMs, share: 0.7 }));
  const play = async (reports) => {
    const times = [];
    const end = performance.now() + bench.repeats(20_000, 8000);
    await game.frameTimes();
    while (performance.now() < end) {
      await wait(100);
      for (const ms of await game.frameTimes()) {
        times.push(ms);
        if (reports) client.reportFrame(ms, targetMs);
      }
    }
    return times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.95)];
  };
  const speakWhile = async (reports) => {
    const { measured, rate } = await whileSpeaking(agents, () => play(reports));
    // A limit ends some seconds after the last report.
    await wait(expiryMs);
    return { measured, rate };
  };
  const sides = { alone: () => play(false), reported: () => speakWhile(true), unreported: () => speakWhile(false) };
  const { alone, ...speaking } = await measureInterleaved(sides, bench.repeats(5, 2));
  const aloneMs = medianOf(alone, (ms) => ms);
  return Object.entries(speaking).map(([name, rounds]) => {
    const p95Ms = medianOf(rounds, ({ measured }) => measured);
    const tokensPerSecond = medianOf(rounds, ({ rate }) => rate);
    if (tokensPerSecond === 0) throw new Error('the characters did not speak');
    return createResult({
      name: 'guest',
      of: `mid, frame time, ${name}`,
      ratio: p95Ms / aloneMs,
      goal: name === 'reported' ? 1.1 : null,
      better: 'lower',
      p95Ms,
      aloneMs,
      tokensPerSecond,
    });
  });
}

/** Starts a server with a priority, and an agent that has its model loaded. @throws Error when the priority is not applied. */
async function startSpeaker(bench, file, priority) {
  const flags = { slots: 1, threads: undefined, 'engine-process': 'child', 'process-priority': priority };
  const server = await bench.server({ file, contextSize: 2048, flags });
  const client = await bench.client(server);
  const agent = await client.createAgent({ graph: generateGraph(1000) });
  const expected = Math.max(levels[priority], getPriority());
  const found = (await processTree(server.pid)).map((pid) => getPriority(pid));
  // Only on Linux there is more than the server process in it.
  if (found.length > 1 && Math.max(...found) !== expected)
    throw new Error(`priorities ${found.join(', ')} instead of ${expected}`);
  return agent;
}

/** Measures while agents generate text without a pause; returns also the pieces of text per second meanwhile. */
async function whileSpeaking(agents, measure) {
  const ending = new AbortController();
  let begin;
  const begun = new Promise((resolve) => (begin = resolve));
  let pieces = 0;
  const speak = async (agent) => {
    for (let turn = 0; !ending.signal.aborted; turn++) {
      await agent.clearDialog();
      const onText = () => {
        pieces++;
        begin();
      };
      if (!ending.signal.aborted) await agent.send(story(5000 + turn, 10), { signal: ending.signal, onText });
    }
  };
  const speaking = Promise.all(agents.map(speak));
  try {
    await Promise.race([begun, wait(maxFirstTokenMs), speaking]);
    await wait(settleMs);
    const [before, start] = [pieces, performance.now()];
    const measured = await measure();
    return { measured, rate: ((pieces - before) * 1000) / (performance.now() - start) };
  } finally {
    ending.abort();
    await speaking;
  }
}
