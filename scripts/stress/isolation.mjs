// Stress test `isolation`: agents with one secret (a canary) each share few slots; no secret may reach another agent.
/** @import { ServerUnderTest, TestResult, TestSize } from './serverProcess.mjs' */
/** @import { TokenReader } from './tokenReader.mjs' */
import { basename, dirname } from 'node:path';
import { runConcurrently, withTimeout } from './timeouts.mjs';
import { createRng } from '../seededRandom.mjs';
import { createCanaries } from './canaries.mjs';
import { StateFileWatcher } from './stateFiles.mjs';

export const name = 'isolation';
export const defaults = { agents: 8, count: 1000 };

// More concurrent turns than slots, so that agents wait for a slot and KV states are swapped out.
const slots = 2;
const concurrency = 5;

/** Starts a server that traces its tokens. */
export async function run({ model, reader, serve }, options) {
  // A fixed number of threads: measuring them would evaluate tokens of no prompt.
  const server = await serve({ slots, traceTokens: true, threads: 1 });
  const watch = new StateFileWatcher(server.cacheFolder, reader);
  try {
    return await checkIsolation({ server, reader, watch }, { ...options, model });
  } finally {
    await server.stop();
  }
}

/**
 * Runs `count` turns of agents with one canary each, and searches answers, prompts and saved KV states for the canaries of
 * other agents.
 * @param {{ server: ServerUnderTest, reader: TokenReader, watch?: StateFileWatcher }} parts
 * @param {TestSize & { count: number, seed: number }} size
 * @returns {Promise<TestResult<{ turns: number, ownInAnswers: number, prompts: number }>>}
 */
export async function checkIsolation({ server, reader, watch }, { model, agents: size, count, seed, log = () => {} }) {
  const rng = createRng(seed);
  const clients = [await server.connect('proto'), await server.connect('json')];
  const agents = await Promise.all(
    createCanaries(size).map(async (secret, index) => {
      const agent = await clients[index % 2].createAgent({
        graph: keeperGraph(secret, model),
        enableDiagnostics: true,
        // The heads of these are in the prompt cache.
        warmUp: index % 2 === 0,
      });
      return { secret, agent, busy: false };
    }),
  );
  const search = new CanarySearch(agents.map(({ secret }) => secret));
  const turns = Array.from({ length: count }, (_, index) => index + 1);
  await runConcurrently(Math.min(concurrency, size), turns, async (turn) => {
    const player = rng.pick(agents.filter(({ busy }) => !busy));
    player.busy = true;
    const answer = await runTurn(player, rng).catch((error) =>
      search.fail(`turn ${turn} of ${player.secret}: ${error.message}`),
    );
    if (answer) search.checkAnswer(player.secret, answer);
    player.busy = false;
    search.checkTraces(server.readTraces(), reader);
    await watch?.readNew((text, path) => search.checkStateFile(text, path));
    if (turn % 200 === 0) log(`${turn} of ${count} turns, ${search.figures.prompts} prompts traced`);
  });
  await Promise.all(clients.map((client) => client.close()));
  return search.result(count);
}

/** Runs one turn, sometimes cancelled or after the dialog was cleared; returns all that the client received, as JSON. */
async function runTurn({ agent, secret }, rng) {
  if (rng.oneIn(12)) await agent.clearDialog();
  const turn = agent.send(rng.pick(messages)(secret));
  if (rng.oneIn(10)) setTimeout(() => turn.cancel(), rng.between(0, 40));
  const { text, calls, events, warnings, debugInfo } = await withTimeout(60, 'a turn', turn.done);
  return JSON.stringify({ text, calls, events, warnings, debugInfo });
}

// The demo model copies names from its prompt into its answers, so a prompt of another agent would show in the answer.
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

/** The prompts of all agents share a prefix. */
const keeperGraph = (secret, model) => ({
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

/** Searches texts for secrets of other agents; counts the agent's own ones too, without which the search proves nothing. */
class CanarySearch {
  figures = { ownInAnswers: 0, prompts: 0, restored: 0, saved: 0, stateFiles: 0, promptFiles: 0 };
  faults = [];
  #secrets;

  constructor(secrets) {
    this.#secrets = secrets;
  }

  fail(fault) {
    this.faults.push(fault);
  }

  checkAnswer(own, answer) {
    const found = this.#secretsIn(answer);
    if (found.includes(own)) this.figures.ownInAnswers++;
    const others = found.filter((secret) => secret !== own);
    if (others.length > 0) this.fail(`the answer of ${own} contains ${others.join(', ')}: ${answer}`);
  }

  checkTraces(records, reader) {
    for (const { kind, tokens } of records) {
      this.figures[{ evaluated: 'prompts', restored: 'restored', saved: 'saved' }[kind]]++;
      const text = reader.text(tokens);
      const found = this.#secretsIn(text);
      // An evaluated context begins with the system message, so it contains the agent's own secret.
      const right = kind === 'evaluated' ? found.length === 1 : found.length <= 1;
      if (!right) this.fail(`${kind} with ${found.length} secrets (${found.join(', ')}): ${text}`);
    }
  }

  checkStateFile(text, path) {
    this.figures.stateFiles++;
    if (basename(dirname(path)) === 'prompts') this.#checkPromptFile(text);
    const found = this.#secretsIn(text);
    if (found.length > 1) this.fail(`a state file with ${found.length} secrets (${found.join(', ')}): ${text}`);
  }

  /** The prompt cache has text of graphs only. */
  #checkPromptFile(text) {
    this.figures.promptFiles++;
    const said = this.#secrets.flatMap((secret) => messages.map((message) => message(secret)));
    const found = said.filter((message) => text.includes(message));
    if (found.length > 0) this.fail(`the prompt cache has what a user has said (${found.join(', ')}): ${text}`);
  }

  result(turns) {
    const { ownInAnswers, prompts } = this.figures;
    if (prompts === 0) this.fail('no prompt was traced, so the test proves nothing');
    if (ownInAnswers < turns / 10)
      this.fail(`agents wrote their own secret only ${ownInAnswers} times, so the test proves little`);
    return { ok: this.faults.length === 0, figures: { turns, ...this.figures }, faults: this.faults };
  }

  #secretsIn(text) {
    const lower = text.toLowerCase();
    return this.#secrets.filter((secret) => lower.includes(secret.toLowerCase()));
  }
}
