// peers: turngraph / llama-server on the same model, both with their defaults; needs --llama-server PATH, and runs only if it is
// named. The model is --model FILE, or mid. A third side is turngraph with that binary as its engine (`serve --llama-server`).
//
// All sides are up for the whole case, and take turns in each round. A conversation of turngraph is an agent, one of
// llama-server the list of its messages, which is sent to /v1/chat/completions; both stream. Times are the client's:
//
// - cold prompt: first token of a new conversation whose first message has about 650 words
// - next turn: first token of the second message of that conversation, which is sent a second after the answer, as by a reader
// - one stream: tokens per second from the first piece to the last
// - four at once: all tokens / time until the last of four new conversations has ended, and the latest first token
// - 12 conversations: first token of the second turns, a second after the first turns of all twelve with 300 words each
// - one core busy: next turn and one stream while another process takes a core
// - memory: the sum of the PSS of all processes of a side, the highest of those after each of these (Linux)
//
// A reply may end early: rates are by its own tokens.
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { startCpuHog } from '../cpuHog.mjs';
import { decodeRate, generateGraph, timeTurn } from '../client.mjs';
import { story } from '../prompts.mjs';
import { sumPss } from '../pss.mjs';
import { createResult, measureInterleaved, median } from '../results.mjs';
import { startPeer } from '../peer.mjs';

const replyTokens = 96;
const readingMs = 1000;
const goals = {
  'cold prompt, first token': { goal: 1, better: 'lower' },
  'next turn, first token': { goal: 0.95, better: 'lower' },
  'one stream': { goal: null, better: 'higher' },
  'four at once': { goal: 0.95, better: 'higher' },
  'four at once, latest first token': { goal: 0.9, better: 'lower' },
  '12 conversations, first token': { goal: 0.95, better: 'lower' },
  'one core busy, first token': { goal: 1, better: 'lower' },
  'one core busy, one stream': { goal: 1, better: 'higher' },
  'peak memory': { goal: 1.05, better: 'lower' },
};

export const peers = {
  name: 'peers',
  needs: ({ llamaServer }) => llamaServer !== undefined,
  async run(bench) {
    const file = bench.model ?? (await bench.file('mid'));
    bench.log(`features of the processor: ${await processorFeatures()}`);
    const standard = { file, flags: { threads: undefined, 'engine-process': 'child' } };
    const sides = {
      turngraph: await openAgents(bench, standard),
      'llama-server': await openPeer(bench, file),
      'turngraph on llama-server': await openAgents(bench, {
        ...standard,
        flags: { ...standard.flags, 'llama-server': bench.llamaServer },
      }),
    };
    const measured = await measureRows(bench, sides);
    return Object.entries(measured).flatMap(([row, values]) => resultsOf(row, values));
  },
};

/** The values of each side in all rounds, by row. */
async function measureRows(bench, sides) {
  const rows = Object.fromEntries(Object.keys(goals).map((row) => [row, {}]));
  const measure = async (rounds, work) => {
    const each = Object.entries(sides).map(([side, open]) => [side, (round) => work(open, round)]);
    for (const [side, results] of Object.entries(await measureInterleaved(Object.fromEntries(each), rounds))) {
      for (const result of results)
        for (const [row, value] of Object.entries(result)) (rows[row][side] ??= []).push(value);
      const medians = Object.keys(results[0] ?? {}).map((row) => `${row} ${median(rows[row][side]).toPrecision(3)}`);
      bench.log(`${side}: ${medians.join('; ')}`);
      const [before = 0] = rows['peak memory'][side] ?? [];
      rows['peak memory'][side] = [Math.max(before, (await sumPss(sides[side].pid)) / 1e6)];
    }
  };
  const rounds = bench.repeats(7, 5);
  await measure(rounds, async (side, round) => {
    const long = await side.converse();
    const cold = await long.send(story(700 * round, 650), 2);
    await wait(readingMs);
    const next = await long.send(story(700 * round + 301, 20), 2);
    const [stream] = [
      await (await side.converse()).send(`Tell a long story of this: ${story(7 * round, 20)}`, replyTokens),
    ];
    return {
      'cold prompt, first token': cold.first,
      'next turn, first token': next.first,
      'one stream': decodeRate(stream),
    };
  });
  await measure(rounds, async (side, round) => {
    const four = await Promise.all([1, 2, 3, 4].map(() => side.converse()));
    const answers = await Promise.all(
      four.map((one, at) => one.send(`Tell a long story of this: ${story(90 * round + at, 20)}`, replyTokens)),
    );
    const generated = answers.reduce((sum, answer) => sum + answer.generated, 0);
    return {
      'four at once': (generated * 1000) / Math.max(...answers.map(({ end }) => end)),
      'four at once, latest first token': Math.max(...answers.map(({ first }) => first)),
    };
  });
  bench.log('12 conversations');
  await measure(bench.repeats(3, 1), async (side, round) => {
    const all = await Promise.all(Array.from({ length: 12 }, () => side.converse()));
    for (const [at, one] of all.entries()) await one.send(story(5000 * round + 400 * at, 300), 2);
    await wait(readingMs);
    const times = [];
    for (const [at, one] of all.entries()) times.push((await one.send(story(300 * at, 10), 2)).first);
    return { '12 conversations, first token': median(times) };
  });
  bench.log('one core busy');
  const hog = bench.closeAtEnd(await startCpuHog());
  await measure(rounds, async (side, round) => {
    const one = await side.converse();
    await one.send(story(40 * round, 60), 8);
    const next = await one.send(`Tell a long story of this: ${story(11 * round, 20)}`, replyTokens);
    return { 'one core busy, first token': next.first, 'one core busy, one stream': decodeRate(next) };
  });
  await hog.close();
  return rows;
}

/** One line for each side that is compared with llama-server. */
function resultsOf(row, { 'llama-server': theirs, ...ours }) {
  const range = (values) => `${Math.min(...values).toPrecision(3)} to ${Math.max(...values).toPrecision(3)}`;
  return Object.entries(ours).map(([side, values]) =>
    createResult({
      name: 'peers',
      of: side === 'turngraph' ? row : `${row}, on llama-server`,
      ratio: median(values) / median(theirs),
      ...(side === 'turngraph' ? goals[row] : goalOnPeer(goals[row])),
      median: median(values),
      range: range(values),
      llamaServerMedian: median(theirs),
      llamaServerRange: range(theirs),
    }),
  );
}

/** With its binary as the engine a row is about as it is without the server. */
const goalOnPeer = ({ better }) => ({ goal: better === 'lower' ? 1.05 : 0.95, better });

/** The side of a turngraph server. */
async function openAgents(bench, options) {
  const server = await bench.server(options);
  const client = await bench.client(server);
  return {
    pid: server.pid,
    async converse() {
      const agent = await client.createAgent({ graph: generateGraph(replyTokens) });
      return {
        async send(message, maxTokens) {
          await agent.changeParams('answer', { sampling: { temperature: 0, max_tokens: maxTokens } });
          const { turn, ...times } = await timeTurn(agent, message);
          return { ...times, generated: turn.tokens.generated };
        },
      };
    },
  };
}

/** The side of llama-server itself. */
async function openPeer(bench, file) {
  const peer = bench.closeAtEnd(await startPeer(bench.llamaServer, file));
  return { pid: peer.pid, converse: peer.converse };
}

async function processorFeatures() {
  const text = await readFile('/proc/cpuinfo', 'utf8').catch(() => '');
  const found = new Set(text.match(/\b(?:avx2|avx512\w*|avx_vnni|amx\w*|neon|asimd\w*)\b/g));
  return [...found].join(' ') || 'not known here';
}
