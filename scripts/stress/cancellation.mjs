// Stress test `cancels`: cancels turns at random moments, measures how long the cancel takes, and checks the answers after it.
/** @import { ServerUnderTest, TestResult, TestSize } from './serverProcess.mjs' */
/** @import { TokenReader } from './tokenReader.mjs' */
import { cancelPoints, phaseOf, prefillCancelPoints } from './cancelPoints.mjs';
import { divergenceOf } from './outputDivergence.mjs';
import { withTimeout } from './timeouts.mjs';
import { createRng } from '../seededRandom.mjs';
import { countConcurrentTurns } from './slotCheck.mjs';
import { quantile } from './leakDetection.mjs';
import { findLeftovers } from './counters.mjs';

export const name = 'cancels';
export const defaults = { agents: 5, count: 1000, words: 900 };

const slots = 3;

/**
 * Starts two servers: one whose turns are cancelled, and a reference without cancels. Both run without flash attention:
 * otherwise the batch shapes of long prompts would change more answers than a defect would.
 */
export async function run({ model, reader, serve }, options) {
  const [server, reference] = [
    await serve({ slots, traceTokens: true, noFlashAttention: true }),
    await serve({ slots: 1, cache: false, traceTokens: true, noFlashAttention: true }),
  ];
  try {
    const result = await cancelAtRandom({ server, reference, reader, slots }, { ...options, model });
    result.faults.push(...(await findLeftovers(server, model)).map((left) => `at the end ${left}`));
    return { ...result, ok: result.faults.length === 0 };
  } finally {
    await Promise.all([server.stop(), reference.stop()]);
  }
}

/**
 * Cancels `count` turns of agents that share few slots. Every cancelled conversation must continue as it does on a
 * reference server without cancels.
 * @param {{ server: ServerUnderTest, reference: ServerUnderTest, reader: TokenReader, slots: number }} parts
 * @param {TestSize & { count: number, seed: number, words: number }} size
 * @returns {Promise<TestResult<{ cancels: number, answersCompared: number, slotsAtOnce: number }>>}
 */
export async function cancelAtRandom(
  { server, reference, reader, slots },
  { model, agents, count, seed, words, log = () => {} },
) {
  const rng = createRng(seed);
  const state = { left: count, cases: [], delays: [], phases: {}, slowest: {}, faults: [], traces: [] };
  const clients = [await server.connect('proto'), await server.connect('json')];
  const loops = Array.from({ length: agents }, async (_, index) => {
    const graph = guardGraph(model, index);
    const agent = await clients[index % 2].createAgent({ graph, enableDiagnostics: true });
    for (let round = 1; state.left > 0; round++) {
      await runCase(state, { agent, graph, words, id: `${index}.${round}` }, rng).catch((error) => {
        state.faults.push(`case ${index}.${round}: ${error.message}`);
      });
      // Saved and restored states are not compared.
      state.traces.push(...server.readTraces().filter(({ kind }) => kind === 'evaluated'));
      if (state.delays.length % 100 < 3) log(`${state.delays.length} of ${count} cancels`);
    }
  });
  await Promise.all(loops);
  await Promise.all(clients.map((client) => client.close()));
  const compared = await compare(state, { reference, reader, log });
  const slotsAtOnce = await countConcurrentTurns(server, slots, model);
  if (slotsAtOnce < slots) state.faults.push(`only ${slotsAtOnce} of ${slots} slots were available at the end`);
  const delay = (share) => Number(quantile(state.delays, share).toFixed(1));
  const milliseconds = { p50: delay(0.5), p99: delay(0.99), max: delay(1), slowest: state.slowest };
  const stats = {
    cancels: state.delays.length,
    phases: state.phases,
    milliseconds,
    ...compared,
    slotsAtOnce,
  };
  return { ok: state.faults.length === 0, figures: stats, faults: state.faults };
}

// In characters.
const maxDialogLength = 1500;

/** Cancels one to three turns of an agent, then lets it answer one. */
async function runCase(state, { agent, graph, words, id }, rng) {
  const long = rng.oneIn(2);
  // A dialog that exceeds the context is shortened, and in a new agent at another place.
  if (long || rng.oneIn(2) || (await agent.exportDialog()).length > maxDialogLength) await agent.clearDialog();
  for (let cancels = 1 + rng.below(3), index = 1; index <= cancels && state.left > 0; index++) {
    state.left--;
    const isLong = long && index === 1;
    const message = isLong ? `${id} ${'apple '.repeat(words)}` : rng.pick(messages);
    await cancelTurn(state, agent.send(message), rng.pick(isLong ? prefillCancelPoints : cancelPoints)(rng));
  }
  const history = await agent.exportDialog();
  const question = `${rng.pick(messages)} (${id})`;
  const { text, status } = await withTimeout(60, 'the turn after a cancel', agent.send(question).done);
  if (status !== 'SUCCESS') throw new Error(`the turn after a cancel ended as ${status}`);
  state.cases.push({ id, graph, history, question, text });
}

async function cancelTurn(state, turn, untilCancelPoint) {
  await Promise.race([untilCancelPoint(turn), turn.done]);
  const began = performance.now();
  turn.cancel();
  const finished = await withTimeout(30, 'a cancelled turn', turn.done);
  const phase = phaseOf(finished);
  state.phases[phase] = (state.phases[phase] ?? 0) + 1;
  if (phase === 'too late') return void state.left++;
  const delay = performance.now() - began;
  state.delays.push(delay);
  state.slowest[phase] = Math.max(state.slowest[phase] ?? 0, Math.round(delay));
}

/** Compares each answer with that of a new agent with the same dialog, on the server without cancels. */
async function compare({ cases, traces, faults }, { reference, reader, log }) {
  const client = await reference.connect('proto');
  const stats = {
    answersCompared: 0,
    answersThatDiffer: 0,
    ofThemNearTies: 0,
    ofThemOtherSpelling: 0,
    largestGap: 0,
  };
  const generations = traces.map((trace) => ({ ...trace, contextText: reader.text(trace.tokens) }));
  for (const { id, graph, history, question, text } of cases) {
    const agent = await client.createAgent({ graph, history });
    const expected = await withTimeout(60, 'an answer of the reference server', agent.send(question).done);
    await agent.destroy();
    const there = reference.readTraces().findLast(({ kind }) => kind === 'evaluated');
    const here = generations.find(({ contextText }) => contextText.includes(`(${id})`));
    if (++stats.answersCompared % 200 === 0) log(`${stats.answersCompared} of ${cases.length} answers compared`);
    const divergence = await divergenceOf(reader, { ...here, text }, { ...there, text: expected.text });
    if (!divergence) continue;
    stats.answersThatDiffer++;
    if (divergence.kind === 'tie') stats.ofThemNearTies++;
    if (divergence.kind === 'tokenization') stats.ofThemOtherSpelling++;
    if (divergence.gap !== undefined) stats.largestGap = Math.max(stats.largestGap, divergence.gap);
    if (divergence.kind !== 'tie' && divergence.kind !== 'tokenization')
      faults.push(
        `case ${id} answers ${JSON.stringify(text)}, the reference ${JSON.stringify(expected.text)}: ${divergence.sentence}; dialog ${history.slice(0, 300)}`,
      );
  }
  await client.close();
  return stats;
}

const messages = [
  'Tell me a joke.',
  'Tell me a story.',
  'Who are you?',
  'What do you sell?',
  'Hello!',
  'Say walrus.',
  `${'The lamp stands in the hall. '.repeat(10)}What is your name?`,
];

const guardGraph = (model, index) => ({
  default_model_name: model,
  start_node: 'answer',
  nodes: {
    answer: {
      type: 'Generate',
      params: {
        system_prompt: `You stand guard at gate ${index} of a town by the sea. Be kind.`,
        sampling: { temperature: 0, max_tokens: 40 },
      },
    },
  },
});
