// Client scenario of the soak test: connects, creates agents, runs random actions, and disconnects, sometimes without a close
// frame.
import { finalResponse } from '../../dist/client/responses.js';
import { actions, createAgent } from './clientActions.mjs';
import { ProtocolChecker } from './protocolChecker.mjs';
import { withTimeout } from './timeouts.mjs';
import { createRecordingSocket } from './recordingSocket.mjs';

/** Counters shared by all clients. */
export const newTally = () => ({
  sessions: 0,
  agents: 0,
  turns: 0,
  cancelled: 0,
  calls: 0,
  refusals: 0,
  drops: 0,
  faults: [],
});

/** Runs one session after another until `end`, a time of `performance.now`. */
export async function runClient({ server, end, codec, rng, tally, model }) {
  while (performance.now() < end) {
    const checker = new ProtocolChecker(finalResponse);
    const socket = createRecordingSocket(checker);
    try {
      await runSession({ server, end, codec, rng, tally, model, checker, socket });
    } catch (error) {
      tally.faults.push(`${codec}: ${error.code ?? ''} ${error.name}: ${error.message}`);
      socket.terminate();
      await pause(100);
    }
    tally.faults.push(...checker.violations.map((violation) => `${codec}: ${violation}`));
  }
}

async function runSession({ server, end, codec, rng, tally, model, checker, socket }) {
  const client = await server.connect(codec, { WebSocket: socket.WebSocket, reconnect: false });
  tally.sessions++;
  const scenario = { client, rng, tally, model, agents: [] };
  for (let count = 1 + rng.below(3); count > 0; count--) await createAgent(scenario);
  for (let left = 3 + rng.below(12); left > 0 && performance.now() < end; left--) {
    await withTimeout(150, 'an action', rng.pick(actions)(scenario));
    await pause(rng.between(0, 200));
  }
  await rng.pick(sessionEndings)({ ...scenario, checker, socket });
}

/** Ways to end a session: closed after all answers have arrived, or dropped. */
const sessionEndings = [
  async ({ client, checker }) => {
    checker.expectAllAnswered();
    await client.close();
  },
  async ({ client, agents, checker }) => {
    await Promise.all(agents.map(({ agent }) => agent.destroy()));
    checker.expectAllAnswered();
    await client.close();
  },
  async ({ tally, socket }) => {
    tally.drops++;
    socket.terminate();
  },
  async ({ agents, rng, tally, socket }) => {
    tally.drops++;
    const turns = agents.map(({ agent }) => agent.send('Tell me a story.'));
    await pause(rng.between(0, 150));
    socket.terminate();
    await Promise.allSettled(turns.map((turn) => turn.done));
  },
];

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
