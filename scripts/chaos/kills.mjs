// Case `kills`: engine processes are killed or stopped at random moments; sockets, dialogs and other models are not affected.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer } from '../stress/serverProcess.mjs';
import { listFiles } from '../stress/stateFiles.mjs';
import { pollUntil, withTimeout } from '../stress/timeouts.mjs';
import { createRng } from '../seededRandom.mjs';
import { moments, newMessage, say } from './killMoments.mjs';
import { findEngineProcesses, isReaped, signalProcess, untilGone } from './processes.mjs';
import { storyGraph } from './story.mjs';
import { modelNames, writeTwoModels } from './twoModels.mjs';

export const name = 'kills';
export const defaults = { count: 100, signal: 'SIGKILL', chapters: 4 };

// Fewer slots than agents, so that KV states are swapped.
const [slots, agentsOfFirst] = [2, 4];
/** A turn of a process that has ended must fail within this time; for a stopped one the server has to find out. */
const limitSeconds = { SIGKILL: 2, SIGSTOP: 12 };
const turnLimitSeconds = 60;
const engineCrashed = 4005;
/** Between the turns of the other model: it must not slow the one that is killed. */
const pauseMs = 500;
/** Parts of an answer that takes far longer than the way of its first piece to a client, however busy the machine is. */
const chaptersOfEndless = 4096;
/** A dialog is cleared after so many messages, so that prompts stay short. */
const maxMessages = 6;

/**
 * Signals the engine process of one of two models `count` times: at the moments of `order`, then at random ones.
 * @param {{ file: string }} target
 * @param {{
 *   count: number, seed: number, signal: 'SIGKILL' | 'SIGSTOP', chapters: number, order?: readonly string[], patience?: number,
 *   log: (line: string) => void,
 * }} options `chapters`: parts of an answer; `patience`: a factor of all time limits.
 */
export async function run({ file }, { count, seed, signal, chapters, order = [], patience = 1, log }) {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-chaos-'));
  const catalogue = await writeTwoModels(folder, file);
  const cacheMegabytes = 64;
  const flags = { catalogue, slots, threads: 1, gpu: 'off', 'model-idle': 3600 };
  const server = await startServer({ flags, cacheMegabytes });
  const faults = [];
  const trial = new KillTrial({ server, signal, order, chapters, patience, rng: createRng(seed), log, faults });
  try {
    await trial.run(count);
    // All agents are gone, and with them their KV states.
    const isEmpty = await pollUntil(5 * patience, async () => (await listStates(server)).length === 0);
    if (!isEmpty) faults.push(`files are left: ${(await listStates(server)).join(', ')}`);
  } catch (error) {
    faults.push(error.message);
  }
  const { code } = await server.stop(patience);
  if (code !== 0) faults.push(`the server ended with ${code}`);
  const { left } = await untilGone([...trial.seen], 2 * patience);
  if (left.length > 0) faults.push(`processes are left: ${left.join(', ')}`);
  await rm(folder, { recursive: true });
  return { ok: faults.length === 0, figures: trial.figures, faults };
}

const listStates = async ({ cacheFolder }) => (await listFiles(join(cacheFolder, 'states'))).map(({ path }) => path);

/** Agents of two models, and what is done to the process of the first one. */
class KillTrial {
  figures = { kills: 0, failedTurns: 0, answeredTurns: 0, slowestFailureSeconds: 0, turnsOfOther: 0, moments: {} };
  /** All engine processes that were ever seen. @type {Set<number>} */
  seen = new Set();
  #parts;
  #agents = [];
  #long;
  #otherProcess = 0;
  #isOver = false;

  constructor(parts) {
    this.#parts = parts;
  }

  async run(count) {
    const { server, rng, order, chapters, log, faults } = this.#parts;
    const clients = [await server.connect('proto'), await server.connect('json')];
    for (const client of clients)
      void client.closed.then(({ code }) => this.#isOver || faults.push(`a socket was closed with ${code}`));
    const other = await createAgent(clients[1], agentsOfFirst, modelNames[1], 1);
    await this.#talk(other);
    [this.#otherProcess] = await findEngineProcesses(server.pid);
    this.#long = await createAgent(clients[0], agentsOfFirst + 1, modelNames[0], 8, chaptersOfEndless);
    for (let index = 0; index < agentsOfFirst; index++)
      this.#agents.push(await createAgent(clients[index % 2], index, modelNames[0], chapters));
    await this.#talkToAll();
    const others = this.#talkAllTheTime(other);
    try {
      while (this.figures.kills < count) {
        await this.#killOnce(order[this.figures.kills] ?? rng.pick(Object.keys(moments)));
        if (this.figures.kills % 20 === 0) log(`${this.figures.kills} of ${count}, ${faults.length} faults`);
      }
    } finally {
      this.#isOver = true;
      await others;
    }
    for (const { agent } of [...this.#agents, this.#long, other]) await agent.destroy();
    await Promise.all(clients.map((client) => client.close()));
  }

  /** Brings the model to a moment, signals its process, and checks what follows. */
  async #killOnce(moment) {
    const { rng, signal, patience, faults, server } = this.#parts;
    const kill = (sent) => this.#signal(sent);
    const pid = await this.#findProcess();
    const turns = await moments[moment]({ agents: this.#agents, long: this.#long, pid, rng, kill });
    const failedBefore = this.figures.failedTurns;
    const began = performance.now();
    const killed = await this.#signal(signal);
    this.figures.kills++;
    this.figures.moments[moment] = (this.figures.moments[moment] ?? 0) + 1;
    // Nothing tells a server that an idle process was stopped, until a turn waits for it.
    if (signal === 'SIGSTOP' && turns.length === 0) turns.push(say(this.#agents[0], 'Are you there?'));
    await Promise.all(turns.map((turn) => this.#checkEnd(turn, moment, began)));
    if (moment === 'answering' && this.figures.failedTurns === failedBefore)
      faults.push(`${moment}: a turn was answered, but its process was stopped in the middle of it`);
    await this.#talkToAll();
    const { left } = await untilGone([killed], limitSeconds.SIGKILL * patience);
    if (left.length > 0) faults.push(`${moment}: process ${killed} was left after ${signal}`);
    const now = await findEngineProcesses(server.pid);
    now.forEach((pid) => this.seen.add(pid));
    if (now.length !== 2) faults.push(`${moment}: two models have ${now.length} processes`);
    if (!now.includes(this.#otherProcess)) faults.push(`${moment}: the process of the other model was replaced`);
  }

  /** The process of the first model, as soon as it has one that was not signalled. */
  async #findProcess() {
    let pid;
    const isThere = await pollUntil(10 * this.#parts.patience, async () => {
      const pids = await findEngineProcesses(this.#parts.server.pid);
      return (pid = pids.find((one) => one !== this.#otherProcess && !this.#signalled.has(one))) !== undefined;
    });
    if (!isThere) throw new Error('the model has no engine process');
    return pid;
  }

  /** Signals the process of the first model. Returns its id. */
  async #signal(signal) {
    const pid = await this.#findProcess();
    this.#signalled.add(pid);
    this.seen.add(pid);
    signalProcess(pid, signal);
    // What is sent before the server knows of the end would still go to this process.
    if (signal === 'SIGKILL' && !(await pollUntil(5 * this.#parts.patience, () => isReaped(pid))))
      throw new Error(`the server does not notice that its process ${pid} has ended`);
    return pid;
  }
  #signalled = new Set();

  /**
   * A turn that was under way fails in time, with the error of a crash. It may be answered all the same: it had ended before,
   * or the process had not begun with it, and the next process did.
   */
  async #checkEnd(turn, moment, began) {
    const { signal, patience, faults } = this.#parts;
    const { code, message } = await withTimeout(turnLimitSeconds * patience, `${moment}: the end of a turn`, turn);
    const seconds = (performance.now() - began) / 1000;
    if (code === undefined) return void this.figures.answeredTurns++;
    this.figures.failedTurns++;
    this.figures.slowestFailureSeconds = Math.max(this.figures.slowestFailureSeconds, seconds);
    if (code !== engineCrashed) faults.push(`${moment}: a turn ended with ${code} ${message}`);
    if (seconds > limitSeconds[signal] * patience)
      faults.push(`${moment}: a turn failed only after ${seconds.toFixed(1)} s`);
  }

  #talkToAll() {
    return Promise.all(this.#agents.map((one) => this.#talk(one)));
  }

  async #talkAllTheTime(other) {
    while (!this.#isOver) {
      await this.#talk(other).catch((error) => this.#parts.faults.push(`the other model: ${error.message}`));
      this.figures.turnsOfOther++;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  /** Sends a message, which is answered, and compares the dialog with what was said. */
  async #talk(one) {
    const text = newMessage('Tell me a story');
    const { code, message } = await withTimeout(turnLimitSeconds * this.#parts.patience, 'an answer', say(one, text));
    if (code !== undefined) this.#parts.faults.push(`a message was answered with ${code} ${message}`);
    const dialog = JSON.parse(await one.agent.exportDialog()).map(({ user }) => user);
    // What was said in a turn that failed may be part of the dialog.
    const [kept, said] = [dialog, one.said].map((list) => list.filter((user) => !one.failed.has(user)).join());
    if (kept !== said) this.#parts.faults.push(`a dialog has "${kept}", but "${said}" was said`);
    if (one.said.length < maxMessages) return;
    await one.agent.clearDialog();
    one.said = [];
  }
}

/** With a number of steps a turn, the graph is endless. */
async function createAgent(client, number, defaultModelName, chapters, maxStepsPerTurn = 0) {
  const graph = storyGraph(number, chapters, maxStepsPerTurn > 0);
  const agent = await client.createAgent({ graph, defaultModelName, maxStepsPerTurn });
  return { agent, said: [], failed: new Set() };
}
