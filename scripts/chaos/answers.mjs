// Case `answers`: connections are cut in the middle of answers; each text must be that of a run without cuts.
import { startServer } from '../stress/serverProcess.mjs';
import { withTimeout } from '../stress/timeouts.mjs';
import { createRng } from '../seededRandom.mjs';
import { runEachClient } from './clients.mjs';
import { drivers } from './drivers.mjs';
import { SessionRecorder } from './sessionRecorder.mjs';
import { storyGraph } from './story.mjs';

export const name = 'answers';
export const defaults = { count: 200, chapters: 48 };

// A slot and a thread: each run evaluates the same tokens in the same batches.
const serverOptions = { flags: { slots: 1, threads: 1, gpu: 'off', 'resume-grace': 60 }, noFlashAttention: true };

// More would mostly cut the replay of an answer that has ended meanwhile.
const maxCutsPerTurn = 8;

/**
 * Cuts `count` connections of each client and codec.
 * @param {{ model: string }} target
 * @param {{ count: number, seed: number, chapters: number, patience?: number, log: (line: string) => void }} options
 *   `chapters`: parts of an answer; `patience`: a factor of all time limits.
 */
export async function run({ model }, { count, seed, chapters, patience = 1, log }) {
  const server = await startServer(serverOptions);
  /** @type {string[]} */
  const told = [];
  try {
    const result = await runEachClient({ port: server.port, seed, log }, (session) =>
      withTimeout(
        (60 + 3 * count) * patience,
        'all turns',
        cutAnswers({ session, model, chapters, rng: createRng(seed), told }, count),
      ),
    );
    const faults = [...result.faults, ...(await findDifferences({ told, model, chapters, patience }))];
    return { ...result, ok: faults.length === 0, faults };
  } finally {
    await server.stop(patience);
  }
}

/** Lets agents tell stories and cuts their connections. Appends the stories to `told`. */
async function cutAnswers({ session: { driver, proxy, recorder, codec, log }, model, chapters, rng, told }, count) {
  const frameBytes = codec === 'proto' ? 40 : 160;
  let [cuts, cutsOfTurn, isAnswering] = [0, 0, false];
  const arm = (bytes) =>
    isAnswering && cuts < count && cutsOfTurn < maxCutsPerTurn && proxy.cutAfter('toClient', 1 + rng.below(bytes));
  // Short ones are often cuts of a replay, long ones of what is being generated.
  const armInAnswer = () => arm(rng.pick([5, 150]) * frameBytes);
  // A connection that has resumed while an answer is open was cut in the middle of it.
  recorder.onResumed = () => {
    if (!isAnswering) return;
    cutsOfTurn++;
    if (++cuts % 50 === 0) log(`${cuts} of ${count} cuts`);
    armInAnswer();
  };
  // Some of the next connections are cut while they are opened or resumed.
  proxy.onCut = () => rng.oneIn(5) && arm(600);
  const onText = () => {
    if (isAnswering) return;
    isAnswering = true;
    armInAnswer();
  };
  let turns = 0;
  for (; cuts < count; turns++) {
    told.push(await tellStory({ driver, model, chapters, number: told.length, onText }));
    [isAnswering, cutsOfTurn] = [false, 0];
    proxy.cutAfter('toClient');
  }
  return { cuts, resumedBeforeTheEnd: recorder.resumedBeforeTheEnd, turns };
}

/** Tells the same stories again, on a new server and without a proxy. Returns a sentence for each that differs. */
async function findDifferences({ told, model, chapters, patience }) {
  const server = await startServer(serverOptions);
  try {
    const recorder = new SessionRecorder();
    const driver = await drivers.typescript({ url: server.url, codec: 'proto', recorder });
    const faults = [];
    for (const [number, text] of told.entries()) {
      const uncut = await tellStory({ driver, model, chapters, number });
      if (uncut !== text)
        faults.push(`answer ${number} is ${JSON.stringify(text)}, without cuts ${JSON.stringify(uncut)}`);
    }
    await driver.close();
    return faults;
  } finally {
    await server.stop(patience);
  }
}

/** Creates an agent, lets it tell a story, and destroys it. Returns the story. */
async function tellStory({ driver, model, chapters, number, onText }) {
  const graphJson = JSON.stringify(storyGraph(number, chapters));
  const { agentId } = await driver.request('createAgent', { graphJson, defaultModelName: model });
  const turn = await driver.request('sendMessage', { agentId, text: 'Tell me a story.' }, onText);
  if ((turn.status ?? 'SUCCESS') !== 'SUCCESS') throw new Error(`answer ${number} ended with ${turn.error?.message}`);
  await driver.request('destroyAgent', { agentId });
  return turn.text;
}
