// Many agents on few slots: each must answer as it does alone, whoever had its slot meanwhile.
import { Samples } from './resourceSamples.mjs';
import { evaluatedWith, nearTie, partingOf } from './outputDivergence.mjs';
import { eventually, inParallel, within } from './timeouts.mjs';
import { secretsFor } from './canaries.mjs';

export const name = 'crowd';
export const summary = 'many agents on few slots';
export const defaults = { agents: 200 };

const slots = 4;
const atOnce = 8;

/** Runs over a server with few slots, and one that holds a model only while somebody uses it. */
export async function run({ model, reader, cacheMegabytes, serve }, options) {
  const server = await serve({ slots: slots, overhear: true });
  const alone = await serve({ slots: 1, cache: false, overhear: true, 'model-idle': 0 });
  const samples = new Samples(server);
  try {
    const result = await crowd({ server, alone, reader }, { ...options, atOnce, model });
    const { faults } = result;
    const { figures: seen, largestFolder } = await samples.end();
    if (largestFolder > cacheMegabytes * 1e6 * 1.05)
      faults.push(`the cache folder had ${largestFolder} bytes, and its limit is ${cacheMegabytes} megabytes`);
    return { ...result, ok: faults.length === 0, figures: { ...result.figures, ...seen } };
  } finally {
    await Promise.all([server.stop(), alone.stop()]);
  }
}

/** Two turns of everybody: alone, in a crowd one after the other, and in a crowd so many at once. */
export async function crowd({ server, alone, reader }, { model, agents, atOnce, log = () => {} }) {
  const people = secretsFor(agents).map((secret, index) => ({
    secret,
    turns: turnsOf(index),
    graph: villager(secret, model),
  }));
  log('each alone');
  const solo = await eachAlone(alone, people, { model, reader });
  const phases = {};
  const faults = [];
  for (const [phase, lanes] of [
    ['oneAtATime', 1],
    ['severalAtOnce', atOnce],
  ]) {
    log(`${agents} agents, ${lanes === 1 ? 'one at a time' : `${lanes} at once`}`);
    const together = await inCrowd(server, people, { lanes, reader });
    const compared = await compare(people, solo, together, { reader, mayTie: lanes > 1 });
    phases[phase] = compared.figures;
    faults.push(...compared.faults.map((fault) => `${phase}: ${fault}`));
  }
  return { ok: faults.length === 0, figures: { agents, ...phases }, faults };
}

/** Everybody on a model that was loaded for nobody else. */
async function eachAlone(server, people, { model, reader }) {
  const client = await server.connect('proto');
  const isGone = async () => (await client.listModels()).find(({ name }) => name === model)?.status !== 'LOADED';
  const answers = new Map();
  for (const { secret, graph, turns } of people) {
    if (!(await eventually(10, isGone))) throw new Error('the model of the server without a crowd is never freed');
    const agent = await client.createAgent({ graph });
    const given = [];
    for (const message of turns) {
      const { text } = await within(60, 'an answer alone', agent.send(message).done);
      given.push({ text, ...evaluatedWith(read(server.heard(), reader))(whoIs(secret)) });
    }
    await agent.destroy();
    answers.set(secret, given);
  }
  await client.close();
  return answers;
}

/** Everybody speaks once, so many at a time, and when all have spoken, once more. */
async function inCrowd(server, people, { lanes, reader }) {
  const clients = await Promise.all([0, 1, 2, 3].map((index) => server.connect(index % 2 ? 'json' : 'proto')));
  const agents = new Map();
  for (const [index, { secret, graph }] of people.entries())
    agents.set(secret, await clients[index % clients.length].createAgent({ graph }));
  const answers = new Map(people.map(({ secret }) => [secret, []]));
  for (const turn of [0, 1]) {
    const texts = new Map();
    await inParallel(lanes, people, async ({ secret, turns }) => {
      const { text, tokens } = await within(120, 'an answer in a crowd', agents.get(secret).send(turns[turn]).done);
      texts.set(secret, { text, reused: tokens.reused / tokens.prompt });
    });
    const find = evaluatedWith(read(server.heard(), reader));
    for (const { secret } of people) answers.get(secret).push({ ...texts.get(secret), ...find(whoIs(secret)) });
  }
  await Promise.all(clients.map((client) => client.close()));
  return answers;
}

/** What differs from the answers alone; where several speak at once, only what parted at a near-tie may. */
async function compare(people, solo, together, { reader, mayTie }) {
  const stats = { answers: 0, differ: 0, largestGap: 0, reusedInSecondTurns: 0 };
  const faults = [];
  for (const { secret } of people) {
    const [mine, theirs] = [solo.get(secret), together.get(secret)];
    stats.reusedInSecondTurns += theirs[1].reused / people.length;
    for (const turn of [0, 1]) {
      stats.answers++;
      const parting = await partingOf(reader, mine[turn], theirs[turn]);
      if (!parting) continue;
      stats.differ++;
      stats.largestGap = Math.max(stats.largestGap, parting.gap ?? 0);
      const said = `turn ${turn + 1} of ${secret} is ${JSON.stringify(theirs[turn].text)}, alone ${JSON.stringify(mine[turn].text)}`;
      if (!(mayTie && parting.kind === 'tie')) faults.push(`${said}: ${parting.sentence}`);
      // What comes after another answer is another conversation.
      break;
    }
  }
  return { figures: { ...stats, nearTie }, faults };
}

const read = (records, reader) => records.map((record) => ({ ...record, written: reader.text(record.tokens) }));

const whoIs = (secret) => `You are ${secret}.`;

const firsts = ['Who are you?', 'Hello!', 'Tell me a joke.', 'What do you sell?', 'Say walrus.', 'Good morning'];
const seconds = [
  'Tell me a story.',
  'Who are you?',
  'What is your name?',
  'My name is Ann.',
  'What is your secret word?',
];

const turnsOf = (index) => [firsts[index % firsts.length], seconds[index % seconds.length]];

const villager = (secret, model) => ({
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
