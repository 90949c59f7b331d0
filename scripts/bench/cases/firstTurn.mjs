// first-turn: time to first token of a cold prompt of about 1,500 tokens / that of the node-llama-cpp baseline with the best
// number of threads for it (model mid).
//
// A server without --threads and a baseline for each of 1, 2, 4, ... threads and all cores evaluate the same prompt, one after
// the other, and a new prompt in each round: first on an idle machine, then while another process keeps one core busy. The
// prompts differ from their first words on, so at most the head of the template is reused (checked); equal token counts are
// checked, too. Each side has three processes that take turns: where the system puts the pages of the weights makes one process
// up to 4 % faster than the next. The time is the client's, from sending to the first piece of text, and the baseline's, from tokenizing the
// prompt to the first token's text. On the idle machine a server with the engine in a process of its own, which is the default,
// takes part as well.
import { threadCandidates } from '../../../dist/inference/llama/threads/threadTuner.js';
import { generateGraph, timeTurn } from '../client.mjs';
import { startCpuHog } from '../cpuHog.mjs';
import { chatmlPrompt, story } from '../prompts.mjs';
import { createResult, measureInterleaved, median, medianOf } from '../results.mjs';

const words = 530;
const contextSize = 4096;
const maxReused = 16;
const goal = 1.05;
/** Of each side. */
const processes = 3;
const warmUps = processes;

export const firstTurn = {
  name: 'first-turn',
  async run(bench) {
    const file = await bench.file('mid');
    const servers = {};
    for (const engine of ['in', 'child'])
      servers[engine] = await takeTurns(() =>
        serverSide(bench, { file, contextSize, flags: { 'engine-process': engine } }),
      );
    const baselines = {};
    for (const threads of threadCandidates(bench.cores))
      baselines[threads] = await takeTurns(() => baselineSide(bench, { file, contextSize, threads }));
    bench.log('idle');
    const idle = await measureInterleaved({ ...servers, ...baselines }, bench.repeats(9, 3), { warmUps });
    bench.closeAtEnd(await startCpuHog());
    bench.log('one core busy');
    const busy = await measureInterleaved({ in: servers.in, ...baselines }, bench.repeats(9, 3), { warmUps });
    return [
      resultOf('mid', 'in', idle, goal),
      resultOf('mid, child engine', 'child', idle, null),
      resultOf('mid, one core busy', 'in', busy, null),
    ];
  },
};

const messageOf = (round) => story(9000 + 101 * round, words);

/** The side of a server: takes a round, answers its message with one token, in a dialog of its own. */
async function serverSide(bench, options) {
  // The number of threads is the server's own choice.
  const server = await bench.server({ ...options, flags: { ...options.flags, threads: undefined } });
  const client = await bench.client(server);
  const agent = await client.createAgent({ graph: generateGraph(1) });
  return async (round) => {
    await agent.clearDialog();
    const { first, turn } = await timeTurn(agent, messageOf(round));
    const { prompt, reused } = turn.tokens;
    return { first, prompt, reused };
  };
}

/** The side of a bare loop with a fixed number of threads. */
async function baselineSide(bench, options) {
  const { run } = await bench.baseline(options);
  return async (round) => {
    const { first, prompt } = await run('stream', { prompt: chatmlPrompt('', messageOf(round)), maxTokens: 1 });
    return { first, prompt };
  };
}

/** A side with several processes: each round is measured in the next one. */
async function takeTurns(startSide) {
  const sides = [];
  for (let at = 0; at < processes; at++) sides.push(await startSide());
  return (round) => sides.at(round % processes)(round);
}

function resultOf(of, side, rounds, goal) {
  const { in: inProcess, child, ...baselines } = rounds;
  const mine = { in: inProcess, child }[side];
  const fixed = Object.entries(baselines).map(([threads, all]) => ({
    threads: Number(threads),
    ms: medianOf(all, ({ first }) => first),
  }));
  const [best] = fixed.toSorted((a, b) => a.ms - b.ms);
  checkSamePrompts(mine, baselines[best.threads]);
  const ms = medianOf(mine, ({ first }) => first);
  return createResult({
    name: 'first-turn',
    of,
    ratio: ms / best.ms,
    goal,
    better: 'lower',
    ms,
    bareMs: best.ms,
    bareThreads: best.threads,
    fixed: Object.fromEntries(fixed.map(({ threads, ms }) => [threads, ms])),
    tokens: median(mine.map(({ prompt }) => prompt)),
    reused: Math.max(...mine.map(({ reused }) => reused)),
  });
}

/** @throws Error when the sides evaluated different prompts, or the server had some of its prompt in the KV cache. */
function checkSamePrompts(mine, theirs) {
  mine.forEach(({ prompt, reused }, round) => {
    if (prompt !== theirs[round].prompt) throw new Error(`prompts of ${prompt} and ${theirs[round].prompt} tokens`);
    if (reused > maxReused) throw new Error(`${reused} tokens of a cold prompt were reused`);
  });
}
