// summary: time to first token of the next turn with a running summary / without one (model demo, context of 640 tokens).
//
// A block is a dialog of 24 turns with short answers, of which about the first ten soon fall out of the context. In each round
// there is a block of each side; the turns of all rounds count, and their p50 and p99 are compared. Between two turns there is
// half a second, in which a player would read, or nothing: then the summary is being made while the next message arrives. The
// times are the client's. It is checked that the prompts had a summary, and that without the parameter they had none. The server
// runs with its defaults: an engine process, and threads of its own choice.
import { setTimeout as wait } from 'node:timers/promises';
import { generateGraph, timeTurn } from '../client.mjs';
import { story } from '../prompts.mjs';
import { createResult, measureInterleaved, quantile } from '../results.mjs';

const turns = 24;
const pauses = { 'half a second between turns': 500, 'at once': 0 };

export const summary = {
  name: 'summary',
  async run(bench) {
    const flags = { threads: undefined, 'engine-process': 'child' };
    const server = await bench.server({ file: await bench.file('demo'), contextSize: 640, flags });
    const client = await bench.client(server);
    const results = [];
    for (const [name, ms] of Object.entries(pauses)) {
      bench.log(name);
      const sides = {};
      for (const summary of [true, false]) {
        const agent = await client.createAgent({ graph: generateGraph(16, { summary, summary_tokens: 64 }) });
        sides[summary] = (round) => firstTokensOf(agent, 100 * round, ms, summary);
      }
      const rounds = await measureInterleaved(sides, bench.repeats(9, 2));
      results.push(...[0.5, 0.99].map((share) => resultOf(name, share, rounds)));
    }
    return results;
  },
};

/** The first tokens' times of the turns of one dialog, in milliseconds. */
async function firstTokensOf(agent, number, pauseMs, wantsSummary) {
  await agent.clearDialog();
  const times = [];
  let summarised = 0;
  for (let turn = 0; turn < turns; turn++) {
    const { first, turn: ended } = await timeTurn(agent, story(number + turn, 30));
    times.push(first);
    summarised = Math.max(summarised, ended.interactionsSummarised ?? 0);
    await wait(pauseMs);
  }
  if (summarised > 0 !== wantsSummary) throw new Error(`${summarised} interactions were summarised`);
  return times;
}

function resultOf(name, share, rounds) {
  const [ms, withoutMs] = [true, false].map((side) => quantile(rounds[side].flat(), share));
  return createResult({
    name: 'summary',
    of: `demo, ${name}, p${share * 100}`,
    ratio: ms / withoutMs,
    goal: share === 0.99 ? 1.05 : null,
    better: 'lower',
    ms,
    withoutMs,
  });
}
