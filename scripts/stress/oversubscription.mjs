// Stress test `crowd`: many agents on few slots (oversubscription); each must answer as it does alone on a server.
/** @import { ServerUnderTest, TestResult, TestSize } from './serverProcess.mjs' */
/** @import { TokenReader } from './tokenReader.mjs' */
import { ResourceSampler } from './resourceSamples.mjs';
import { findGeneration, maxTieGap, divergenceOf } from './outputDivergence.mjs';
import { pollUntil, runConcurrently, withTimeout } from './timeouts.mjs';
import { createCanaries } from './canaries.mjs';

export const name = 'crowd';
export const defaults = { agents: 200 };

const slots = 4;
const atOnce = 8;

/** Starts a server with few slots, and a reference server that unloads the model when no agent uses it. */
export async function run({ model, reader, cacheMegabytes, serve }, options) {
  const server = await serve({ slots, traceTokens: true });
  const alone = await serve({ slots: 1, cache: false, traceTokens: true, 'model-idle': 0 });
  const sampler = new ResourceSampler(server);
  try {
    const result = await oversubscribe({ server, alone, reader }, { ...options, atOnce, model });
    const { faults } = result;
    const { figures: resources, maxFolderBytes } = await sampler.stop();
    if (maxFolderBytes > cacheMegabytes * 1e6 * 1.05)
      faults.push(`the cache folder had ${maxFolderBytes} bytes, and its limit is ${cacheMegabytes} megabytes`);
    return { ...result, ok: faults.length === 0, figures: { ...result.figures, ...resources } };
  } finally {
    await Promise.all([server.stop(), alone.stop()]);
  }
}

/**
 * @typedef {object} Phase
 * @property {number} answers
 * @property {number} differ
 * @property {number} largestGap
 */

/**
 * Runs two turns of every agent: alone on the reference server, then with all agents on few slots, first one at a time and
 * then `atOnce` concurrently.
 * @param {{ server: ServerUnderTest, alone: ServerUnderTest, reader: TokenReader }} parts
 * @param {TestSize & { atOnce: number }} size
 * @returns {Promise<TestResult<{ agents: number, oneAtATime: Phase, severalAtOnce: Phase }>>}
 */
export async function oversubscribe({ server, alone, reader }, { model, agents, atOnce, log = () => {} }) {
  const villagers = createCanaries(agents).map((secret, index) => ({
    secret,
    messages: messagesOf(index),
    graph: villagerGraph(secret, model),
  }));
  log('each alone');
  const expected = await answerAlone(alone, villagers, { model, reader });
  const phases = {};
  const faults = [];
  for (const [phase, concurrency] of [
    ['oneAtATime', 1],
    ['severalAtOnce', atOnce],
  ]) {
    log(`${agents} agents, ${concurrency === 1 ? 'one at a time' : `${concurrency} concurrently`}`);
    const answers = await answerTogether(server, villagers, { concurrency, reader });
    const compared = await compare(villagers, expected, answers, { reader, mayTie: concurrency > 1 });
    phases[phase] = compared.figures;
    faults.push(...compared.faults.map((fault) => `${phase}: ${fault}`));
  }
  return { ok: faults.length === 0, figures: { agents, ...phases }, faults };
}

/** The answers of each agent alone, on a freshly loaded model. */
async function answerAlone(server, villagers, { model, reader }) {
  const client = await server.connect('proto');
  const isUnloaded = async () => (await client.listModels()).find(({ name }) => name === model)?.status !== 'LOADED';
  const answers = new Map();
  for (const { secret, graph, messages } of villagers) {
    if (!(await pollUntil(10, isUnloaded))) throw new Error('the reference server does not unload its model');
    const agent = await client.createAgent({ graph });
    const own = [];
    for (const message of messages) {
      const { text } = await withTimeout(60, 'an answer of the reference server', agent.send(message).done);
      own.push({ text, ...findGeneration(withText(server.readTraces(), reader), identityOf(secret)) });
    }
    await agent.destroy();
    answers.set(secret, own);
  }
  await client.close();
  return answers;
}

/** The answers of all agents on one server: all first turns, `concurrency` at a time, then all second turns. */
async function answerTogether(server, villagers, { concurrency, reader }) {
  const clients = await Promise.all([0, 1, 2, 3].map((index) => server.connect(index % 2 ? 'json' : 'proto')));
  const agents = new Map();
  for (const [index, { secret, graph }] of villagers.entries())
    agents.set(secret, await clients[index % clients.length].createAgent({ graph }));
  const answers = new Map(villagers.map(({ secret }) => [secret, []]));
  for (const turn of [0, 1]) {
    const texts = new Map();
    await runConcurrently(concurrency, villagers, async ({ secret, messages }) => {
      const { text, tokens } = await withTimeout(120, 'an answer', agents.get(secret).send(messages[turn]).done);
      texts.set(secret, { text, reused: tokens.reused / tokens.prompt });
    });
    const traces = withText(server.readTraces(), reader);
    for (const { secret } of villagers)
      answers.get(secret).push({ ...texts.get(secret), ...findGeneration(traces, identityOf(secret)) });
  }
  await Promise.all(clients.map((client) => client.close()));
  return answers;
}

/** Compares with the answers alone; with several concurrent turns (`mayTie`) answers may diverge at a near-tie. */
async function compare(villagers, expected, answers, { reader, mayTie }) {
  const stats = { answers: 0, differ: 0, largestGap: 0, reusedInSecondTurns: 0 };
  const faults = [];
  for (const { secret } of villagers) {
    const [alone, together] = [expected.get(secret), answers.get(secret)];
    stats.reusedInSecondTurns += together[1].reused / villagers.length;
    for (const turn of [0, 1]) {
      stats.answers++;
      const divergence = await divergenceOf(reader, alone[turn], together[turn]);
      if (!divergence) continue;
      stats.differ++;
      stats.largestGap = Math.max(stats.largestGap, divergence.gap ?? 0);
      const answersOfTurn = `turn ${turn + 1} of ${secret} is ${JSON.stringify(together[turn].text)}, alone ${JSON.stringify(alone[turn].text)}`;
      if (!(mayTie && divergence.kind === 'tie')) faults.push(`${answersOfTurn}: ${divergence.sentence}`);
      // After a different answer the next turn has another dialog.
      break;
    }
  }
  return { figures: { ...stats, nearTie: maxTieGap }, faults };
}

const withText = (traces, reader) => traces.map((trace) => ({ ...trace, contextText: reader.text(trace.tokens) }));

const identityOf = (secret) => `You are ${secret}.`;

const firstMessages = ['Who are you?', 'Hello!', 'Tell me a joke.', 'What do you sell?', 'Say walrus.', 'Good morning'];
const secondMessages = [
  'Tell me a story.',
  'Who are you?',
  'What is your name?',
  'My name is Ann.',
  'What is your secret word?',
];

const messagesOf = (index) => [
  firstMessages[index % firstMessages.length],
  secondMessages[index % secondMessages.length],
];

const villagerGraph = (secret, model) => ({
  default_model_name: model,
  start_node: 'answer',
  nodes: {
    answer: {
      type: 'Generate',
      params: {
        system_prompt: `${common}You are ${secret}. Your secret word is ${secret.toLowerCase()}.`,
        sampling: { temperature: 0, max_tokens: 48 },
      },
    },
  },
});

const common =
  'You live in a village by the sea. The village has a harbour, a market, a mill and an inn. On market days people come ' +
  'from far away to buy bread, soup and ale. At night the lamps along the harbour are lit, and the boats come home. You ' +
  'are kind to everybody who asks, and you keep replies short. ';
