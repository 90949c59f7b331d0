// Client scenario of the soak test: connects, creates agents, runs random actions, and disconnects, sometimes without a close
// frame.
import { actions, createAgent } from './clientActions.mjs';
import { withTimeout } from './timeouts.mjs';
import { SessionRecorder } from '../chaos/sessionRecorder.mjs';

/** Counters shared by all clients. */
export const newTally = () => ({
  sessions: 0,
  agents: 0,
  turns: 0,
  cancelled: 0,
  calls: 0,
  refusals: 0,
  drops: 0,
  resumes: 0,
  crashedTurns: 0,
  faults: [],
});

/**
 * Runs one session after another until `end`, a time of `performance.now`. In chaos, turns may end with a crash of the
 * engine; with a `url` the session goes through a proxy that cuts it, and is resumed.
 */
export async function runClient({ server, end, codec, rng, tally, model, chaos }) {
  while (performance.now() < end) {
    const isCut = chaos?.url !== undefined;
    const recorder = new SessionRecorder();
    recorder.onResumed = () => tally.resumes++;
    const options = { WebSocket: recorder.webSocketClass(), ...(isCut ? { url: chaos.url } : { reconnect: false }) };
    const isAllowed = (error) => chaos !== undefined && error.code === engineCrashed;
    try {
      await runSession({ server, end, codec, rng, tally, model, recorder, options, isCut, isAllowed });
    } catch (error) {
      // A connection that is cut before it has a session cannot be resumed.
      if (isCut && error.code === connectionFailed) continue;
      tally.faults.push(`${codec}: ${error.code ?? ''} ${error.name}: ${error.message}`);
      if (!isCut) recorder.terminate();
      await pause(100);
    }
    const violations = recorder.faults.filter((one) => !chaos || !crashedTurn.test(one));
    tally.faults.push(...violations.map((violation) => `${codec}: ${violation}`));
  }
}

async function runSession(session) {
  const { server, end, codec, rng, tally, model, recorder, options, isCut, isAllowed } = session;
  const client = await server.connect(codec, options);
  tally.sessions++;
  const scenario = { client, rng, tally, model, agents: [] };
  for (let count = 1 + rng.below(3); count > 0; count--) await tolerate(createAgent(scenario), isAllowed, tally);
  for (let left = 3 + rng.below(12); left > 0 && performance.now() < end; left--) {
    const { agents } = scenario;
    if (agents.length === 0) await tolerate(createAgent(scenario), isAllowed, tally);
    else {
      const action = rng.pick(actions);
      await tolerate(withTimeout(150, `the action ${action.name}`, action(scenario)), isAllowed, tally);
    }
    await pause(rng.between(0, 200));
  }
  await rng.pick(isCut ? closingEndings : sessionEndings)({ ...scenario, recorder });
}

/** Waits for what may fail with an error that is allowed; others are thrown. */
async function tolerate(work, isAllowed, tally) {
  try {
    await work;
  } catch (error) {
    if (!isAllowed(error)) throw error;
    tally.crashedTurns++;
  }
}

const [connectionFailed, engineCrashed] = [1001, 4005];
const crashedTurn = /^a turn failed: ENGINE_CRASHED/;

/** Ways to end a session after all answers have arrived. */
const closingEndings = [
  async ({ client, recorder }) => {
    recorder.expectAllAnswered();
    await client.close();
  },
  async ({ client, agents, recorder }) => {
    await Promise.all(agents.map(({ agent }) => agent.destroy()));
    recorder.expectAllAnswered();
    await client.close();
  },
];

/** All ways to end a session; some drop it. */
const sessionEndings = [
  ...closingEndings,
  async ({ tally, recorder }) => {
    tally.drops++;
    recorder.terminate();
  },
  async ({ agents, rng, tally, recorder }) => {
    tally.drops++;
    const turns = agents.map(({ agent }) => agent.send('Tell me a story.'));
    await pause(rng.between(0, 150));
    recorder.terminate();
    await Promise.allSettled(turns.map((turn) => turn.done));
  },
];

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
