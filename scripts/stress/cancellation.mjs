// Turns that are cancelled at random moments: how soon they end, and whether all is well afterwards.
import { moments, phaseOf, readingMoments } from './cancelPoints.mjs';
import { partingOf } from './outputDivergence.mjs';
import { within } from './timeouts.mjs';
import { chanceFrom } from '../seededRandom.mjs';
import { speakingAtOnce } from './slotCheck.mjs';
import { quantile } from './leakDetection.mjs';
import { leftOver } from './counters.mjs';

export const name = 'cancels';
export const summary = 'cancels at random moments';
export const defaults = { agents: 5, count: 1000, words: 900 };

const slots = 3;

/**
 * Runs over two servers of its own: one on which is cancelled, and one that only ever answers. Both are exact, for in long
 * prompts the shape of batches would else part more answers than a fault might.
 */
export async function run({ model, reader, serve }, options) {
  const [server, other] = [
    await serve({ slots: slots, overhear: true, exact: true }),
    await serve({ slots: 1, cache: false, overhear: true, exact: true }),
  ];
  try {
    const result = await cancelAtRandom({ server, other, reader, slots: slots }, { ...options, model });
    result.faults.push(...(await leftOver(server, model)).map((left) => `at the end ${left}`));
    return { ...result, ok: result.faults.length === 0 };
  } finally {
    await Promise.all([server.stop(), other.stop()]);
  }
}

/** So many cancels by agents over few slots; every conversation that was cut must go on as it would elsewhere. */
export async function cancelAtRandom(
  { server, other, reader, slots: slots },
  { model, agents, count, seed, words, log = () => {} },
) {
  const chance = chanceFrom(seed);
  const state = { left: count, cases: [], delays: [], phases: {}, slowest: {}, faults: [], overheard: [] };
  const clients = [await server.connect('proto'), await server.connect('json')];
  const lives = Array.from({ length: agents }, async (_, index) => {
    const graph = guard(model, index);
    const agent = await clients[index % 2].createAgent({ graph, enableDiagnostics: true });
    for (let round = 1; state.left > 0; round++) {
      await oneCase(state, { agent, graph, words, id: `${index}.${round}` }, chance).catch((error) => {
        state.faults.push(`case ${index}.${round}: ${error.message}`);
      });
      // Tokens are kept only of what is asked about.
      state.overheard.push(...server.heard().filter(({ kind }) => kind === 'evaluated'));
      if (state.delays.length % 100 < 3) log(`${state.delays.length} of ${count} cancels`);
    }
  });
  await Promise.all(lives);
  await Promise.all(clients.map((client) => client.close()));
  const compared = await compare(state, { other, reader, log });
  const atOnce = await speakingAtOnce(server, slots, model);
  if (atOnce < slots) state.faults.push(`only ${atOnce} of ${slots} slots were to be had at the end`);
  const delay = (share) => Number(quantile(state.delays, share).toFixed(1));
  const milliseconds = { p50: delay(0.5), p99: delay(0.99), max: delay(1), slowest: state.slowest };
  const stats = {
    cancels: state.delays.length,
    phases: state.phases,
    milliseconds,
    ...compared,
    slotsAtOnce: atOnce,
  };
  return { ok: state.faults.length === 0, figures: stats, faults: state.faults };
}

// Characters.
const longestDialog = 1500;

/** One to three turns that are cut, and one that is not. */
async function oneCase(state, { agent, graph, words, id }, chance) {
  const long = chance.once(2);
  // A dialog that had to be cut to fit would be cut elsewhere in a new agent.
  if (long || chance.once(2) || (await agent.exportDialog()).length > longestDialog) await agent.clearDialog();
  for (let cuts = 1 + chance.below(3), cut = 1; cut <= cuts && state.left > 0; cut++) {
    state.left--;
    const reading = long && cut === 1;
    const message = reading ? `${id} ${'apple '.repeat(words)}` : chance.pick(messages);
    await cancelOne(state, agent.send(message), chance.pick(reading ? readingMoments : moments)(chance));
  }
  const history = await agent.exportDialog();
  const question = `${chance.pick(messages)} (${id})`;
  const { text, status } = await within(60, 'the turn after a cancel', agent.send(question).done);
  if (status !== 'SUCCESS') throw new Error(`the turn after a cancel ended as ${status}`);
  state.cases.push({ id, graph, history, question, text });
}

async function cancelOne(state, turn, moment) {
  await Promise.race([moment(turn), turn.done]);
  const began = performance.now();
  turn.cancel();
  const finished = await within(30, 'a cancelled turn', turn.done);
  const phase = phaseOf(finished);
  state.phases[phase] = (state.phases[phase] ?? 0) + 1;
  if (phase === 'too late') return void state.left++;
  const delay = performance.now() - began;
  state.delays.push(delay);
  state.slowest[phase] = Math.max(state.slowest[phase] ?? 0, Math.round(delay));
}

/** Asks the same question of a new agent with the same dialog, on a server where nothing was ever cancelled. */
async function compare({ cases, overheard, faults }, { other, reader, log }) {
  const client = await other.connect('proto');
  const stats = {
    answersCompared: 0,
    answersThatDiffer: 0,
    ofThemNearTies: 0,
    ofThemOtherSpelling: 0,
    largestGap: 0,
  };
  const written = overheard.map((record) => ({ ...record, written: reader.text(record.tokens) }));
  for (const { id, graph, history, question, text } of cases) {
    const agent = await client.createAgent({ graph, history });
    const fresh = await within(60, 'an answer elsewhere', agent.send(question).done);
    await agent.destroy();
    const there = other.heard().findLast(({ kind }) => kind === 'evaluated');
    const here = written.find((record) => record.written.includes(`(${id})`));
    if (++stats.answersCompared % 200 === 0) log(`${stats.answersCompared} of ${cases.length} answers compared`);
    const parting = await partingOf(reader, { ...here, text }, { ...there, text: fresh.text });
    if (!parting) continue;
    stats.answersThatDiffer++;
    if (parting.kind === 'tie') stats.ofThemNearTies++;
    if (parting.kind === 'spelling') stats.ofThemOtherSpelling++;
    if (parting.gap !== undefined) stats.largestGap = Math.max(stats.largestGap, parting.gap);
    if (parting.kind !== 'tie' && parting.kind !== 'spelling')
      faults.push(
        `case ${id} answers ${JSON.stringify(text)}, elsewhere ${JSON.stringify(fresh.text)}: ${parting.sentence}; dialog ${history.slice(0, 300)}`,
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

const guard = (model, index) => ({
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
