// threads: tokens per second with the number of threads that the server chooses / with the best fixed number (model mid).
//
// A server without --threads and one for each number from 1 to the cores answer alternately, in the same rounds: first on an
// idle machine, then while another process keeps one core busy. The rate is the decode rate at the client. An answer is
// cancelled after 5 seconds, because too many threads on a busy machine may be a hundred times too slow; the tokens received by
// then count. Before each state every server generates one long answer that does not count, so that it can adapt.
import { decodeRate, generateGraph } from '../client.mjs';
import { createResult, measureInterleaved, median } from '../results.mjs';
import { story } from '../prompts.mjs';
import { startCpuHog } from '../cpuHog.mjs';

const maxTokens = 64;
const maxAnswerMs = 5000;
const warmUpTokens = 250;
const goals = { idle: 0.95, 'one core busy': 0.9 };

export const threads = {
  name: 'threads',
  async run(bench) {
    const file = await bench.file('mid');
    const counts = Array.from({ length: bench.cores }, (_, at) => at + 1);
    const agents = {};
    for (const count of [undefined, ...counts]) {
      const server = await bench.server({ file, contextSize: 1024, flags: { slots: 1, threads: count } });
      const client = await bench.client(server);
      const [short, long] = [maxTokens, warmUpTokens].map((tokens) =>
        client.createAgent({ graph: generateGraph(tokens) }),
      );
      agents[count ?? 'chosen'] = { short: await short, long: await long };
    }
    const results = [await measure(bench, agents, 'idle')];
    bench.closeAtEnd(await startCpuHog());
    results.push(await measure(bench, agents, 'one core busy'));
    return results;
  },
};

async function measure(bench, agents, state) {
  bench.log(state);
  for (const { long } of Object.values(agents)) await rateOf(long, 0);
  const sides = Object.fromEntries(
    Object.entries(agents).map(([count, { short }]) => [count, (round) => rateOf(short, round)]),
  );
  const rounds = await measureInterleaved(sides, bench.repeats(9, 3), { warmUps: 0 });
  const rates = Object.fromEntries(Object.entries(rounds).map(([count, all]) => [count, median(all)]));
  const { chosen, ...fixed } = rates;
  const [best] = Object.entries(fixed).toSorted(([, a], [, b]) => b - a);
  return createResult({
    name: 'threads',
    of: state,
    ratio: chosen / best[1],
    goal: goals[state],
    better: 'higher',
    tokensPerSecond: chosen,
    bestTokensPerSecond: best[1],
    bestThreads: Number(best[0]),
    fixed,
  });
}

async function rateOf(agent, round) {
  await agent.clearDialog();
  // The timeout starts at the first piece, because only decoding counts.
  const timeout = new AbortController();
  let timer;
  const start = performance.now();
  const received = { first: 0, last: 0, pieces: 0 };
  const { tokens } = await agent.send(story(3000 + round, 10), {
    signal: timeout.signal,
    onText() {
      received.last = performance.now() - start;
      received.first ||= received.last;
      timer ??= setTimeout(() => timeout.abort(), maxAnswerMs);
      received.pieces++;
    },
  });
  clearTimeout(timer);
  // The last token of a cancelled answer is not sent.
  return decodeRate({ ...received, generated: Math.min(tokens.generated, received.pieces) });
}
