// Agents with a secret each, over fewer slots than there are agents: nobody's secret may reach anybody else.
import { inParallel, within } from './timeouts.mjs';
import { chanceFrom } from '../seededRandom.mjs';
import { secretsFor } from './canaries.mjs';
import { StateWatch } from './stateFiles.mjs';

export const name = 'isolation';
export const summary = 'secrets over shared slots';
export const defaults = { agents: 8, count: 1000 };

// Agents that wait for a slot are part of it, and so are slots whose state has to go.
const slots = 2;
const atOnce = 5;

/** Runs over a server of its own whose prompts are overheard. */
export async function run({ model, reader, serve }, options) {
  // A fixed number of threads: timing them evaluates tokens that are nobody's prompt.
  const server = await serve({ slots: slots, overhear: true, threads: 1 });
  const watch = new StateWatch(server.cacheFolder, reader);
  try {
    return await isolate({ server, reader, watch }, { ...options, model });
  } finally {
    await server.stop();
  }
}

/** So many turns of agents with secrets; what was heard, overheard and saved is searched for the secrets of others. */
export async function isolate({ server, reader, watch }, { model, agents: size, count, seed, log = () => {} }) {
  const chance = chanceFrom(seed);
  const clients = [await server.connect('proto'), await server.connect('json')];
  const agents = await Promise.all(
    secretsFor(size).map(async (secret, index) => {
      const agent = await clients[index % 2].createAgent({ graph: keeper(secret, model), enableDiagnostics: true });
      return { secret, agent, busy: false };
    }),
  );
  const search = new Search(agents.map(({ secret }) => secret));
  const turns = Array.from({ length: count }, (_, index) => index + 1);
  await inParallel(Math.min(atOnce, size), turns, async (turn) => {
    const one = chance.pick(agents.filter(({ busy }) => !busy));
    one.busy = true;
    const said = await speak(one, chance).catch((error) =>
      search.fail(`turn ${turn} of ${one.secret}: ${error.message}`),
    );
    if (said) search.answer(one.secret, said);
    one.busy = false;
    search.overheard(server.heard(), reader);
    await watch?.look((text) => search.state(text));
    if (turn % 200 === 0) log(`${turn} of ${count} turns, ${search.figures.prompts} prompts overheard`);
  });
  await Promise.all(clients.map((client) => client.close()));
  return search.verdict(count);
}

/** One turn, now and then cut short or in a conversation that has just been forgotten; gives all that the client heard. */
async function speak({ agent, secret }, chance) {
  if (chance.once(12)) await agent.clearDialog();
  const turn = agent.send(chance.pick(messages)(secret));
  if (chance.once(10)) setTimeout(() => turn.cancel(), chance.between(0, 40));
  const { text, calls, events, warnings, debugInfo } = await within(60, 'a turn', turn.done);
  return JSON.stringify({ text, calls, events, warnings, debugInfo });
}

// The demo model takes names out of what it reads into what it says, so that a prompt of somebody else's would be heard.
const messages = [
  (secret) => `Please turn on the ${secret} light.`,
  (secret) => `Turn off the ${secret} light.`,
  () => 'Turn on the light again.',
  () => 'Turn the same light off, please.',
  () => 'Who are you?',
  () => 'What is your secret word?',
  () => 'Hello!',
  () => 'Tell me a joke.',
  (secret) => `My name is ${secret}. ${'It is a long way from here to the sea. '.repeat(5)}Who are you?`,
];

/** Agents have the beginning of their prompt in common, and the rest of it not. */
const keeper = (secret, model) => ({
  default_model_name: model,
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: {
        system_prompt: `${common}You are ${secret}. Your secret word is ${secret}.`,
        sampling: { temperature: 0, max_tokens: 40 },
        tools: [setLight],
      },
      exits: { no_tool_called: 'answer' },
    },
    answer: {
      type: 'Generate',
      params: {
        system_prompt: `${common}You are ${secret}. Be brief.`,
        sampling: { temperature: 0, max_tokens: 40 },
      },
    },
  },
});

const common =
  'You live in a house by the sea, with many lamps, and you tend them all. Be kind to everybody who asks. ';
const setLight = {
  name: 'set_light',
  description: 'Turn a named light on or off.',
  parameters: [
    { name: 'name', type: 'string', description: 'Which light.' },
    { name: 'on', type: 'boolean', description: 'true to turn it on.' },
  ],
};

/** Looks for secrets where they do not belong, and for one's own, without which the search would prove nothing. */
class Search {
  figures = { ownInAnswers: 0, prompts: 0, restored: 0, saved: 0, stateFiles: 0 };
  faults = [];
  #secrets;

  constructor(secrets) {
    this.#secrets = secrets;
  }

  fail(fault) {
    this.faults.push(fault);
  }

  answer(own, said) {
    const found = this.#in(said);
    if (found.includes(own)) this.figures.ownInAnswers++;
    const others = found.filter((secret) => secret !== own);
    if (others.length > 0) this.fail(`${own} was heard to say ${others.join(', ')}: ${said}`);
  }

  overheard(records, reader) {
    for (const { kind, tokens } of records) {
      this.figures[{ evaluated: 'prompts', restored: 'restored', saved: 'saved' }[kind]]++;
      const text = reader.text(tokens);
      const found = this.#in(text);
      // What was evaluated begins with a system message, and so holds its owner's secret.
      const right = kind === 'evaluated' ? found.length === 1 : found.length <= 1;
      if (!right) this.fail(`${kind} with ${found.length} secrets (${found.join(', ')}): ${text}`);
    }
  }

  state(text) {
    this.figures.stateFiles++;
    const found = this.#in(text);
    if (found.length > 1) this.fail(`a state file with ${found.length} secrets (${found.join(', ')}): ${text}`);
  }

  verdict(turns) {
    const { ownInAnswers, prompts } = this.figures;
    if (prompts === 0) this.fail('no prompt was overheard, so nothing is shown');
    if (ownInAnswers < turns / 10) this.fail(`own secrets were heard ${ownInAnswers} times only, so little is shown`);
    return { ok: this.faults.length === 0, figures: { turns, ...this.figures }, faults: this.faults };
  }

  #in(text) {
    const lower = text.toLowerCase();
    return this.#secrets.filter((secret) => lower.includes(secret.toLowerCase()));
  }
}
