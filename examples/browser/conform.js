// Carries out the commands of the conformance kit (docs/contribute/conformance.md) with turngraph.js. conform.mjs passes them to a page.
import { Client, TurngraphError } from './turngraph.js';

/** What a command is answered with that this program cannot carry out. */
const unusable = (message) => new TurngraphError(0, 'UNUSABLE', message);
const dropped = () => new TurngraphError(1002, 'CONNECTION_DROPPED', 'there is no connection');

/** Returns the function that takes a command. `write` is called with each event. */
export function createProgram(url, write) {
  const agents = new Map();
  let lastAgent = 0;
  let client;
  let isClosing = false;

  /** Resolves when the first attempt has succeeded, and rejects when it has failed. */
  async function connect(token) {
    let isConnected = false;
    let hasLost = false;
    agents.clear();
    const opened = await new Promise((resolve, reject) => {
      const candidate = new Client(url, {
        token,
        onLost: (reason) => {
          if (!isConnected) {
            void candidate.close();
            return reject(reason);
          }
          // Rejects when the client does not connect again.
          candidate.ready().catch(() => {
            if (!hasLost && !isClosing) write({ event: 'lost' });
            hasLost = true;
          });
        },
        onReconnected: (isResumed) => write({ event: isResumed ? 'resumed' : 'restarted' }),
      });
      candidate.ready().then(() => resolve(candidate), reject);
    });
    isConnected = true;
    client = opened;
  }

  function agentOf({ agent }) {
    if (!client) throw dropped();
    if (!agents.has(agent)) throw unusable(`there is no agent ${agent}`);
    return agents.get(agent);
  }

  async function send(command) {
    const { id } = command;
    let text = '';
    const { status, stopReason, error } = await agentOf(command).send(command.text, {
      onText: (piece) => {
        text += piece;
        write({ id, event: 'text', text: piece });
      },
      onCall: ({ callId, toolName, typedArgumentsJson }) =>
        write({ id, event: 'call', call: callId, name: toolName, arguments: JSON.parse(typedArgumentsJson) }),
    });
    if (status === 'ERROR') throw new TurngraphError(error.code, error.name, error.message);
    return { event: 'complete', text, status, reason: stopReason };
  }

  const commands = {
    connect: async ({ token }) => {
      await connect(token);
      return { event: 'connected', session: client.sessionId };
    },
    create_agent: async ({ graph, dialog }) => {
      if (!client) throw dropped();
      const name = String(++lastAgent);
      agents.set(name, await client.createAgent({ graph, ...(dialog && { historyJson: JSON.stringify(dialog) }) }));
      return { event: 'agent', agent: name };
    },
    send,
    results: async (command) => {
      const results = command.results.map(({ call, content, ok }) => ({ callId: call, content, ok }));
      await agentOf(command).submitResults(results);
      return { event: 'ok' };
    },
    cancel: async (command) => {
      await agentOf(command).cancel();
      return { event: 'ok' };
    },
    close: async () => {
      isClosing = true;
      await client?.close();
      return { event: 'closed' };
    },
  };

  return async (command) => {
    const { id } = command;
    try {
      if (!Object.hasOwn(commands, command.do)) throw unusable(`there is no command ${command.do}`);
      write({ id, ...(await commands[command.do](command)) });
    } catch (error) {
      write({ id, event: 'error', code: error.code ?? 0, message: error.message });
    }
  };
}
