// Carries out the commands of the conformance kit (docs/contribute/conformance.md) with turngraph.js, and those of
// test/e2e/clients/scenarios.json. conform.mjs passes them to a page.
import { connect, TurngraphError } from './turngraph.js';

/** What a command is answered with that this program cannot carry out. */
const unusable = (message) => new TurngraphError(0, 'UNUSABLE', message);
const dropped = () => new TurngraphError(1002, 'CONNECTION_DROPPED', 'there is no connection');

/** Returns the function that takes a command. `write` is called with each event. */
export function createProgram(url, write) {
  const agents = new Map();
  let lastAgent = 0;
  let client;
  let isClosing = false;

  /** Connects once; what comes later is written. */
  async function open({ token, idle_ms: idleMs }) {
    let hasLost = false;
    agents.clear();
    client = undefined;
    client = await connect(url, {
      token,
      limits: idleMs && { idleMs },
      onLost: () => {
        // Rejects when the client does not connect again.
        client?.ready().catch(() => {
          if (!hasLost && !isClosing) write({ event: 'lost' });
          hasLost = true;
        });
      },
      onReconnected: (isResumed) => write({ event: isResumed ? 'resumed' : 'restarted' }),
    });
  }

  function agentOf({ agent }) {
    if (!client) throw dropped();
    if (!agents.has(agent)) throw unusable(`there is no agent ${agent}`);
    return agents.get(agent);
  }

  /** The functions that a command describes. */
  const toolsOf = (behaviours) =>
    Object.fromEntries(
      Object.entries(behaviours).map(([name, { returns, fails }]) => [
        name,
        () => {
          if (fails !== undefined) throw new RangeError(fails);
          return returns;
        },
      ]),
    );

  async function send(command) {
    const { id, tools } = command;
    const { text, status, stopReason, warnings } = await agentOf(command).send(command.text, {
      tools: tools && toolsOf(tools),
      onText: (piece) => write({ id, event: 'text', text: piece }),
      onField: (name, value) => write({ id, event: 'field', name, value }),
      onCall: ({ callId, toolName, arguments: values }) =>
        write({ id, event: 'call', call: callId, name: toolName, arguments: values }),
    });
    return { event: 'complete', text, status, reason: stopReason, warnings };
  }

  const commands = {
    connect: async (command) => {
      await open(command);
      return { event: 'connected', session: client.sessionId };
    },
    create_agent: async ({ graph, dialog }) => {
      if (!client) throw dropped();
      const name = String(++lastAgent);
      const agent = await client.createAgent({ graph, history: dialog });
      agents.set(name, agent);
      return { event: 'agent', agent: name, warnings: agent.warnings };
    },
    send,
    export: async (command) => ({ event: 'dialog', dialog: JSON.parse(await agentOf(command).exportDialog()) }),
    change: async (command) => {
      await agentOf(command).changeParams(command.node, command.params);
      return { event: 'ok' };
    },
    destroy: async (command) => {
      await agentOf(command).destroy();
      return { event: 'ok' };
    },
    report_frame: async ({ ms, target_ms: targetMs }) => {
      client.reportFrame(ms, targetMs);
      return { event: 'ok' };
    },
    request: async ({ name, body }) => {
      if (!client) throw dropped();
      return { event: 'answer', body: await client.request(name, body) };
    },
    results: async (command) => {
      const results = command.results.map(({ call, content, ok }) => ({ callId: call, content, ok }));
      await agentOf(command).submitToolResults(results);
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
