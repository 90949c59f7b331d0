// Moments of a model at which the case `kills` signals its process.
import { signalProcess } from './processes.mjs';

let lastNumber = 0;

/** A message that has not been sent before. */
export const newMessage = (/** @type {string} */ begin) => `${begin}, number ${++lastNumber}.`;

/** Sends a message. Resolves with the error of the turn; never rejects, except without a connection. */
export async function say(one, text, onText = () => {}) {
  one.said.push(text);
  const turn = one.agent.send(text);
  void (async () => {
    for await (const piece of turn.text) onText(piece);
  })().catch(() => {});
  try {
    await turn.done;
    return {};
  } catch (error) {
    one.failed.add(text);
    return { code: error.code, message: error.message };
  }
}

/** Moments at which the process is signalled. Each resolves at that moment, with the turns that are under way. */
export const moments = {
  idle: async () => [],
  async loading({ agents, rng, kill }) {
    await kill('SIGKILL');
    const turn = say(rng.pick(agents), newMessage('Begin'));
    await pause(rng.between(20, 250));
    return [turn];
  },
  async prefill({ agents, rng }) {
    const turn = say(rng.pick(agents), `${'apple '.repeat(500)}${++lastNumber}`);
    await pause(rng.between(0, 150));
    return [turn];
  },
  async generating({ agents, rng }) {
    const [begun, onText] = signalOnce();
    const turn = say(rng.pick(agents), newMessage('Tell me another story'), onText);
    await Promise.race([begun, turn]);
    await pause(rng.between(0, 150));
    return [turn];
  },
  /** The process stops at the first piece of a long answer, so that it cannot end the turn before the signal. */
  async answering({ long, pid }) {
    const [begun, onText] = signalOnce();
    const stop = () => void (signalProcess(pid, 'SIGSTOP'), onText());
    const turn = say(long, newMessage('Tell me a long story'), stop);
    await Promise.race([begun, turn]);
    return [turn];
  },
  async swapping({ agents, rng }) {
    const turns = agents.map((one) => say(one, newMessage('Tell me the next story')));
    await pause(rng.between(100, 1000));
    return turns;
  },
};

function signalOnce() {
  let signal = () => {};
  return [new Promise((resolve) => (signal = resolve)), () => signal()];
}

const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));
