// Stress test `isolation`: agents with words of their own (canaries) share few slots and a prompt cache on disk, over restarts
// of the server; no canary may reach another agent, and none that a user or a variable has said the prompt cache.
/** @import { ServerUnderTest, TestResult, TestSize } from './serverProcess.mjs' */
/** @import { TokenReader } from './tokenReader.mjs' */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { runConcurrently, withTimeout } from './timeouts.mjs';
import { createRng } from '../seededRandom.mjs';
import { createCanaries } from './canaries.mjs';
import { CanarySearch } from './canarySearch.mjs';
import { listFiles, readStateTokens, StateFileWatcher } from './stateFiles.mjs';

export const name = 'isolation';
export const defaults = { agents: 8, count: 1000 };

// More concurrent turns than slots, so that agents wait for a slot and KV states are swapped out.
const slots = 2;
const concurrency = 5;
const servers = 4;
// Megabytes. Room for the prompt cache and all KV states: what was evicted cannot be searched at the end.
const cacheLimit = 1024;

/** Starts servers that trace their tokens, one after the other in the same cache folder. */
export async function run({ model, reader, serve }, { count, ...options }) {
  const cacheFolder = await mkdtemp(join(tmpdir(), 'turngraph-isolation-'));
  const watch = new StateFileWatcher(cacheFolder, reader);
  const characters = createCharacters(options.agents);
  const search = new CanarySearch(characters);
  let restored = 0;
  try {
    for (let restart = 0; restart < servers; restart++) {
      // A fixed number of threads: measuring them would evaluate tokens of no prompt.
      const server = await serve({ slots, traceTokens: true, threads: 1, cacheFolder, cacheLimit });
      try {
        const parts = { server, reader, watch, characters, search };
        const turns = Math.ceil((count * (restart + 1)) / servers) - Math.ceil((count * restart) / servers);
        const { restoredByWarmUp } = await runTurns(parts, {
          ...options,
          model,
          count: turns,
          seed: options.seed + restart,
        });
        if (restart > 0) restored += restoredByWarmUp;
      } finally {
        await server.stop();
      }
      options.log(`server ${restart + 1} of ${servers} has ended, ${search.figures.prompts} prompts traced`);
    }
    await checkPromptCache(join(cacheFolder, 'prompts'), reader, search);
    if (search.figures.promptFiles === 0)
      search.fail('nothing was in the prompt cache, so the test proves nothing of it');
    if (restored === 0) search.fail('no agent started from the prompt cache after a restart');
    const { figures, ...result } = search.result(count);
    return { ...result, figures: { ...figures, restarts: servers - 1, restoredByWarmUp: restored } };
  } finally {
    await rm(cacheFolder, { recursive: true, force: true });
  }
}

/**
 * Runs `count` turns of agents with canaries of their own on one server, and searches answers, prompts and saved KV states for
 * those of other agents.
 * @param {{ server: ServerUnderTest, reader: TokenReader }} parts
 * @param {TestSize & { count: number, seed: number }} size
 * @returns {Promise<TestResult<{ turns: number, ownInAnswers: number, prompts: number }>>}
 */
export async function checkIsolation(parts, size) {
  const characters = createCharacters(size.agents);
  const search = new CanarySearch(characters);
  await runTurns({ ...parts, characters, search }, size);
  return search.result(size.count);
}

/** Two agents each have the same graph, and with it a name; their guests and words are their own. */
function createCharacters(size) {
  const canaries = createCanaries(3 * size);
  return Array.from({ length: size }, (_, index) => ({
    name: canaries[index >> 1],
    guest: canaries[size + index],
    word: canaries[2 * size + index],
  }));
}

async function runTurns({ server, reader, watch, characters, search }, { model, count, seed, log = () => {} }) {
  const rng = createRng(seed);
  const clients = [await server.connect('proto'), await server.connect('json')];
  const players = [];
  for (const [index, canaries] of characters.entries()) {
    const agent = await clients[index % 2].createAgent({
      graph: keeperGraph(canaries.name, model),
      enableDiagnostics: true,
      // The heads of these are in the prompt cache.
      warmUp: index % 4 < 2,
    });
    players.push({ canaries, agent, busy: false });
  }
  const restoredByWarmUp = search.checkTraces(server.readTraces(), reader);
  const turns = Array.from({ length: count }, (_, index) => index + 1);
  await runConcurrently(Math.min(concurrency, players.length), turns, async (turn) => {
    const player = rng.pick(players.filter(({ busy }) => !busy));
    player.busy = true;
    const answer = await runTurn(player, rng).catch((error) =>
      search.fail(`turn ${turn} of ${player.canaries.word}: ${error.message}`),
    );
    if (answer) search.checkAnswer(player.canaries, answer);
    player.busy = false;
    search.checkTraces(server.readTraces(), reader);
    // Files of the prompt cache are checked at the end, since they stay.
    await watch?.readNew((text, path) => basename(dirname(path)) !== 'prompts' && search.checkStateFile(text));
    if (turn % 100 === 0) log(`${turn} of ${count} turns, ${search.figures.prompts} prompts traced`);
  });
  await Promise.all(clients.map((client) => client.close()));
  return { restoredByWarmUp };
}

/** Reads all files of the prompt cache: the tokens of each state, and those of each header. */
async function checkPromptCache(folder, reader, search) {
  for (const { path } of await listFiles(folder)) {
    const file = basename(path);
    const tokens = file.endsWith('.json')
      ? JSON.parse(await readFile(path, 'utf8')).tokens
      : await readStateTokens(path);
    if (tokens) search.checkPromptFile(reader.text(tokens), file);
    else search.fail(`${file} of the prompt cache cannot be read`);
  }
}

/** Runs one turn, sometimes cancelled or after the dialog was cleared; returns all that the client received, as JSON. */
async function runTurn({ agent, canaries: { guest, word } }, rng) {
  if (rng.oneIn(12)) await agent.clearDialog();
  const turn = agent.send(rng.pick(messages)(word), { variables: { guest } });
  if (rng.oneIn(10)) setTimeout(() => turn.cancel(), rng.between(0, 40));
  const { text, calls, events, warnings, debugInfo } = await withTimeout(60, 'a turn', turn.done);
  return JSON.stringify({ text, calls, events, warnings, debugInfo });
}

// The demo model copies names from its prompt into its answers, so a prompt of another agent would show in the answer.
const messages = [
  (word) => `Please turn on the ${word} light.`,
  (word) => `Turn off the ${word} light.`,
  () => 'Turn on the light again.',
  () => 'Turn the same light off, please.',
  () => 'Who are you?',
  () => 'What is your secret word?',
  () => 'Who is your guest?',
  () => 'Hello!',
  () => 'Tell me a joke.',
  (word) => `My name is ${word}. ${'It is a long way from here to the sea. '.repeat(5)}Who are you?`,
];

/** The prompts of all agents share a prefix, and those of two agents all but the guest. */
const keeperGraph = (ownName, model) => ({
  default_model_name: model,
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: {
        system_prompt: `${common}You are ${ownName}. Your secret word is ${ownName}. Your guest is {{guest}}.`,
        sampling: { temperature: 0, max_tokens: 40 },
        tools: [setLight],
      },
      exits: { no_tool_called: 'answer' },
    },
    answer: {
      type: 'Generate',
      params: {
        system_prompt: `${common}You are ${ownName}. Be brief. {{guest}} is here.`,
        sampling: { temperature: 0, max_tokens: 40 },
      },
    },
  },
});

const common =
  'You live in a house by the sea, with many lamps, and you tend them all. Be kind to everybody who asks. ' +
  'The lamps burn from dusk to dawn, so that no boat loses its way. At night you count them, and in the morning you fill ' +
  'them with oil. Many guests come to the house: some stay for a day, some for a year, and each has a room with a lamp. ';
const setLight = {
  name: 'set_light',
  description: 'Turn a named light on or off.',
  parameters: [
    { name: 'name', type: 'string', description: 'Which light.' },
    { name: 'on', type: 'boolean', description: 'true to turn it on.' },
  ],
};
