// threads: tokens a second with the threads that the server chooses / with the best fixed number of them (mid).
//
// A server that was told nothing and one for each number from 1 to the cores answer in turn, in the same rounds: first on
// an idle machine, then while another process spins on one core. The rate is that of the decoding, as a client hears it.
// An answer is given up after some seconds, for too many threads on a busy machine may be a hundred times too slow; what
// came by then counts. Before each state every server has one long answer that does not count, in which it may adapt.
import { decodeRate, talk } from '../client.mjs';
import { figure, interleaved, median } from '../results.mjs';
import { story } from '../prompts.mjs';
import { startSpinner } from '../cpuHog.mjs';

const maxTokens = 64;
const patienceMs = 5000;
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
      const [short, long] = [maxTokens, warmUpTokens].map((tokens) => client.createAgent({ graph: talk(tokens) }));
      agents[count ?? 'chosen'] = { short: await short, long: await long };
    }
    const stats = [await measure(bench, agents, 'idle')];
    bench.kept(await startSpinner());
    stats.push(await measure(bench, agents, 'one core busy'));
    return stats;
  },
};

async function measure(bench, agents, state) {
  bench.log(state);
  for (const { long } of Object.values(agents)) await rateOf(long, 0);
  const sides = Object.fromEntries(
    Object.entries(agents).map(([count, { short }]) => [count, (round) => rateOf(short, round)]),
  );
  const rounds = await interleaved(sides, bench.repeats(9, 3), { warmUps: 0 });
  const rates = Object.fromEntries(Object.entries(rounds).map(([count, all]) => [count, median(all)]));
  const { chosen, ...fixed } = rates;
  const [best] = Object.entries(fixed).toSorted(([, a], [, b]) => b - a);
  return figure({
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
  // From the first piece on: what counts is the decoding.
  const giveUp = new AbortController();
  let timer;
  const start = performance.now();
  const at = { first: 0, last: 0, pieces: 0 };
  const { tokens } = await agent.send(story(3000 + round, 10), {
    signal: giveUp.signal,
    onText() {
      at.last = performance.now() - start;
      at.first ||= at.last;
      timer ??= setTimeout(() => giveUp.abort(), patienceMs);
      at.pieces++;
    },
  });
  clearTimeout(timer);
  // The token at which an answer is given up is not heard.
  return decodeRate({ ...at, generated: Math.min(tokens.generated, at.pieces) });
}
