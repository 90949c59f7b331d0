// Case `requests`: connections are cut between the sending of requests and their answers; each takes effect exactly once.
import { startServer } from '../stress/serverProcess.mjs';
import { withTimeout } from '../stress/timeouts.mjs';
import { createRng } from '../seededRandom.mjs';
import { runEachClient } from './clients.mjs';

export const name = 'requests';
export const defaults = { count: 200 };

const maxRequestsAtOnce = 6;
const maxAgents = 20;

/**
 * Cuts `count` connections of each client and codec.
 * @param {object} _target
 * @param {{ count: number, seed: number, patience?: number, log: (line: string) => void }} options `patience`: a factor of
 *   all time limits.
 */
export async function run(_target, { count, seed, patience = 1, log }) {
  // The engine is the mock: no process of another one is started.
  const server = await startServer({ flags: { gpu: 'off', 'engine-process': 'in', 'resume-grace': 60 } });
  try {
    const result = await runEachClient({ port: server.port, seed, log }, (session) =>
      withTimeout((60 + 3 * count) * patience, 'all requests', cutRequests(session, createRng(seed), count)),
    );
    return { ...result, ok: result.faults.length === 0 };
  } finally {
    await server.stop(patience);
  }
}

async function cutRequests({ driver, proxy, recorder, log }, rng, count) {
  await driver.request('configureSession', { engine: 'mock' });
  const world = new World(driver);
  let [cuts, open] = [0, 0];
  recorder.onResumed = () => {
    if (open > 0 && ++cuts % 50 === 0) log(`${cuts} of ${count} cuts`);
  };
  while (cuts < count) {
    const direction = rng.oneIn(3) ? 'toClient' : 'toServer';
    proxy.cutAfter(direction, 1 + rng.below(direction === 'toServer' ? 600 : 150));
    const requests = Array.from({ length: 1 + rng.below(maxRequestsAtOnce) }, () => {
      open++;
      return world.act(rng).finally(() => open--);
    });
    await Promise.all(requests);
    proxy.cutAfter('toClient');
  }
  await world.check();
  return { cuts, ...world.figures };
}

const graphJson = JSON.stringify({ start_node: 'answer', nodes: { answer: { type: 'Generate' } } });

/** What the requests so far must have led to. */
class World {
  figures = { agents: 0, messages: 0, storages: 0 };
  /** Agents, and what was said to each. */
  #agents = [];
  #storages = [];
  #driver;

  constructor(driver) {
    this.#driver = driver;
  }

  /** Sends a request at random. Rejects when its answer is not the expected one. */
  act(rng) {
    const idle = this.#agents.filter(({ isBusy }) => !isBusy);
    const action = rng.below(10);
    if (idle.length === 0 || action === 0) return this.#createAgent();
    if (action === 1) return this.#createStorage();
    const agent = rng.pick(idle);
    if (action === 2 && this.#agents.length > maxAgents) return this.#destroyAgent(agent);
    if (action === 3) return this.#clear(agent);
    return this.#say(agent);
  }

  /** Compares all dialogs with what was said, and destroys everything, which exists exactly once. */
  async check() {
    for (const agent of this.#agents) {
      const { historyJson } = await this.#driver.request('exportDialog', { agentId: agent.id });
      const said = JSON.parse(historyJson).map(({ user }) => user);
      if (said.join() !== agent.said.join())
        throw new Error(`agent ${agent.id} was told ${agent.said.join()}, and its dialog has ${said.join()}`);
      await this.#driver.request('destroyAgent', { agentId: agent.id });
    }
    for (const storage of this.#storages) await this.#driver.request('destroyStringStorage', { name: storage });
  }

  async #createAgent() {
    const number = ++this.figures.agents;
    const { agentId } = await this.#driver.request('createAgent', { graphJson });
    if (agentId !== number) throw new Error(`the agent that was created as number ${number} has the id ${agentId}`);
    this.#agents.push({ id: agentId, said: [], isBusy: false });
  }

  async #createStorage() {
    const storage = `storage-${++this.figures.storages}`;
    await this.#driver.request('createStringStorage', { name: storage, kind: 'LIST', strings: ['a', 'b'] });
    this.#storages.push(storage);
  }

  async #destroyAgent(agent) {
    this.#agents.splice(this.#agents.indexOf(agent), 1);
    await this.#driver.request('destroyAgent', { agentId: agent.id });
  }

  async #clear(agent) {
    agent.isBusy = true;
    await this.#driver.request('clearDialog', { agentId: agent.id });
    agent.said = [];
    agent.isBusy = false;
  }

  async #say(agent) {
    agent.isBusy = true;
    const text = `message ${++this.figures.messages}`;
    const turn = await this.#driver.request('sendMessage', { agentId: agent.id, text });
    if (turn.text !== `You said: ${text}`) throw new Error(`"${text}" was answered with "${turn.text}"`);
    agent.said.push(text);
    agent.isBusy = false;
  }
}
