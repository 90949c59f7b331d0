// The life of one client of the soak: it comes, makes agents, does this and that, and goes, now and then without goodbye.
import { finalResponse } from '../../dist/client/responses.js';
import { acts, cast } from './clientActions.mjs';
import { Ledger } from './protocolChecker.mjs';
import { within } from './timeouts.mjs';
import { watchedSocket } from './recordingSocket.mjs';

/** Counts of what all lives together did. */
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

/** Lives until the end of the time (of `performance.now`), one session after another. */
export async function liveFor({ server, end, codec, chance, tally, model }) {
  while (performance.now() < end) {
    const ledger = new Ledger(finalResponse);
    const watched = watchedSocket(ledger);
    try {
      await session({ server, end, codec, chance, tally, model, ledger, watched });
    } catch (error) {
      tally.faults.push(`${codec}: ${error.code ?? ''} ${error.name}: ${error.message}`);
      watched.terminate();
      await pause(100);
    }
    tally.faults.push(...ledger.faults.map((fault) => `${codec}: ${fault}`));
  }
}

async function session({ server, end, codec, chance, tally, model, ledger, watched }) {
  const client = await server.connect(codec, { WebSocket: watched.WebSocket });
  tally.sessions++;
  const life = { client, chance, tally, model, agents: [] };
  for (let count = 1 + chance.below(3); count > 0; count--) await cast(life);
  for (let left = 3 + chance.below(12); left > 0 && performance.now() < end; left--) {
    await within(150, 'an act', chance.pick(acts)(life));
    await pause(chance.between(0, 200));
  }
  await chance.pick(endings)({ ...life, ledger, watched });
}

/** Ways to go. Whoever says goodbye has had all its answers before. */
const endings = [
  async ({ client, ledger }) => {
    ledger.settle();
    await client.close();
  },
  async ({ client, agents, tally, ledger }) => {
    await Promise.all(agents.map(({ agent }) => agent.destroy()));
    ledger.settle();
    await client.close();
  },
  async ({ tally, watched }) => {
    tally.drops++;
    watched.terminate();
  },
  async ({ agents, chance, tally, watched }) => {
    tally.drops++;
    const turns = agents.map(({ agent }) => agent.send('Tell me a story.'));
    await pause(chance.between(0, 150));
    watched.terminate();
    await Promise.allSettled(turns.map((turn) => turn.done));
  },
];

const pause = (milliseconds) => new Promise((go) => setTimeout(go, milliseconds));
