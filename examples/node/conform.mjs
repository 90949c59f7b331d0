// The client program of the conformance kit (docs/contribute/conformance.md), over turngraph/client. It also takes the commands of
// test/e2e/clients/scenarios.json.
//
//   npx turngraph conformance --client "node examples/node/conform.mjs"

import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'turngraph/client';

const { TURNGRAPH_URL: url, TURNGRAPH_CODEC: subprotocol } = process.env;
const codec = { 'turngraph.v1.json': 'json', 'turngraph.v1.proto': 'proto' }[subprotocol];
// The exit code for a codec that a client does not have.
if (!codec) process.exit(77);

// Close codes after which another session would not help: the server ends, the token is wrong, another client has the session.
const finalCloseCodes = [1001, 1002, 1009, 4401, 4406, 4409, 4429];

/** @type {import('turngraph/client').Client | undefined} */
let client;
let token;
let limits;
/** Resolves when the agents are restored, while they are. */
let restoring = Promise.resolve();
/** By name: the agent, what it was created with, and its dialog. */
const agents = new Map();

const write = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);

const openClient = () => connect(url, { codec, token, limits, onConnectionChange });

function onConnectionChange(change) {
  if (change.state === 'resumed') write({ event: 'resumed' });
  if (change.state !== 'lost') return;
  client = undefined;
  if (finalCloseCodes.includes(change.code)) {
    agents.clear();
    write({ event: 'lost' });
  } else restoring = restore();
}

// Connects again, and creates all agents again with their dialogs.
async function restore() {
  for (let delayMs = 250; !client; delayMs = Math.min(2 * delayMs, 8000)) {
    await sleep(delayMs * (1 + Math.random() / 2));
    try {
      const opened = await openClient();
      for (const agent of agents.values()) {
        agent.handle = await opened.createAgent({ graph: agent.graph, history: agent.dialog });
      }
      client = opened;
    } catch {
      // The next attempt comes later.
    }
  }
  write({ event: 'restarted' });
}

function connectedClient() {
  if (client) return client;
  throw Object.assign(new Error('there is no connection'), { code: 1002 });
}

function agentNamed(name) {
  connectedClient();
  const agent = agents.get(name);
  if (!agent) throw new Error(`there is no agent "${name}"`);
  return agent;
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

async function send(id, agent, { text, tools }) {
  const turn = agent.handle.send(text, {
    ...(tools && { tools: toolsOf(tools) }),
    onText: (piece) => write({ id, event: 'text', text: piece }),
    onField: (name, value) => write({ id, event: 'field', name, value }),
    onCall: ({ callId, toolName, arguments: values }) =>
      write({ id, event: 'call', call: callId, name: toolName, arguments: values }),
  });
  const { text: whole, status, stopReason, warnings } = await turn.done;
  // For a session that is lost: after the connection has ended it is too late to ask.
  const exported = agent.handle.exportDialog();
  write({ id, event: 'complete', text: whole, status, reason: stopReason, warnings });
  agent.dialog = await exported.catch(() => agent.dialog);
}

const commands = {
  async connect({ id, token: given, idle_ms: idleTimeoutMs }) {
    token = given;
    limits = { idleTimeoutMs };
    client = await openClient();
    write({ id, event: 'connected', session: client.session.sessionId });
  },
  async create_agent({ id, graph, dialog = [] }) {
    const handle = await connectedClient().createAgent({ graph, history: dialog });
    const name = `agent ${id}`;
    agents.set(name, { handle, graph, dialog });
    write({ id, event: 'agent', agent: name, warnings: handle.warnings });
  },
  send: (command) => send(command.id, agentNamed(command.agent), command),
  async export({ id, agent }) {
    write({ id, event: 'dialog', dialog: JSON.parse(await agentNamed(agent).handle.exportDialog()) });
  },
  async change({ id, agent, node, params }) {
    await agentNamed(agent).handle.changeParams(node, params);
    write({ id, event: 'ok' });
  },
  async destroy({ id, agent }) {
    await agentNamed(agent).handle.destroy();
    write({ id, event: 'ok' });
  },
  async report_frame({ id, ms, target_ms: targetMs }) {
    connectedClient().reportFrame(ms, targetMs);
    write({ id, event: 'ok' });
  },
  async request({ id, name, body }) {
    write({ id, event: 'answer', body: await connectedClient().request(name, body) });
  },
  async results({ id, agent, results }) {
    const submitted = results.map(({ call, content, ok }) => ({ callId: call, content, ok }));
    await agentNamed(agent).handle.submitToolResults(submitted);
    write({ id, event: 'ok' });
  },
  async cancel({ id, agent }) {
    agentNamed(agent).handle.cancel();
    write({ id, event: 'ok' });
  },
  async close({ id }) {
    await client?.close();
    write({ id, event: 'closed' });
    process.exit(0);
  },
};

async function run(command) {
  try {
    // While agents are restored, what is asked of them waits.
    await restoring;
    if (!Object.hasOwn(commands, command.do)) throw new Error(`there is no command "${command.do}"`);
    await commands[command.do](command);
  } catch (error) {
    write({ id: command.id, event: 'error', code: error.code ?? 0, message: error.message });
  }
}

const lines = createInterface({ input: process.stdin });
lines.on('line', (line) => void run(JSON.parse(line)));
lines.on('close', async () => {
  await client?.close();
  process.exit(0);
});
