// A client program of the conformance kit (docs/contribute/conformance.md) without a library, for JSON. Without arguments it is right.
// `--restarts` creates its agents again after a drop instead of resuming; each other argument is the name of a fault.

import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { MiniSocket } from './miniSocket.mjs';

const flags = new Set(process.argv.slice(2));
const has = (fault) => flags.has(fault);
const { TURNGRAPH_URL: url, TURNGRAPH_CODEC: subprotocol } = process.env;
if (subprotocol !== 'turngraph.v1.json' && !has('forgets-subprotocol')) process.exit(77);

const partialBodies = ['answerField', 'answerText', 'toolCallNotification', 'nodeEvent', 'modelProgress'];
const finalCloseCodes = new Set([
  ...(has('resumes-after-1001') ? [] : [1001]),
  1002,
  4401,
  4406,
  ...(has('returns-after-4409') ? [] : [4409]),
  4429,
]);
const dropped = { code: 1002, message: 'the connection was closed' };

const write = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);
const fail = (id, { code = 0, message }) =>
  write({
    id,
    event: 'error',
    code,
    message: has('hides-unknown-errors') && code === 3999 ? 'unknown error' : message,
  });

let socket;
let token;
let session;
let isConnected = false;
/** Whether requests wait for a connection. */
let isResuming = false;
let lastRequestId = 0;
/** Requests without a final answer, by id: `text`, `onFrame`, `resolve`, `reject`. */
let pending = new Map();
/** What was sent in the session, and how often. */
let sent = [];
let lastSeq = 0;
let lateCancel;
let hasResumed = false;
const agents = new Map();

function openSocket(resumed, sessionId) {
  return new Promise((resolve, reject) => {
    const offered = has('misspells-subprotocol') ? 'turngraph.v1' : subprotocol;
    const opened = new MiniSocket(
      sessionId && !has('hides-session') ? `${url}/?session=${sessionId}` : url,
      { subprotocol: has('forgets-subprotocol') ? '' : offered, token, has },
      {
        open() {},
        refused: (status) =>
          !has('hangs-when-refused') && reject({ code: 1001, message: `the server answered ${status}` }),
        message(text) {
          const frame = read(text);
          if (!frame) return;
          if (frame.sessionReady) {
            socket = opened;
            resolve(frame.sessionReady);
          } else receive(frame);
        },
        end(code) {
          if (socket !== opened && has('hangs-before-ready')) return;
          if (socket !== opened) return reject({ code: 1001, message: `the connection was closed with ${code}` });
          if (!resumed.isAborted) onEnd(code);
        },
      },
    );
  });
}

function read(text) {
  if (has('small-buffer') && text.length > 20_000) return undefined;
  try {
    const isApart = has('reads-escapes-apart');
    return JSON.parse(isApart ? text.replaceAll(/\\ud[89ab]..\\ud[c-f]../g, '\ufffd\ufffd') : text);
  } catch (error) {
    if (has('fragment-is-message') || has('read-is-frame')) return undefined;
    throw error;
  }
}

function receive(frame) {
  const { requestId, seq, ...members } = frame;
  const isSet = ([, value]) => value !== null || has('takes-null-for-a-message');
  const bodies = Object.fromEntries(Object.entries(members).filter(isSet));
  const [body] = Object.keys(bodies);
  if (has('refuses-unknown-fields') && Object.keys(bodies).length > 1) throw new Error(`unknown field in ${body}`);
  if (has('refuses-unknown-messages') && body === 'futureMessage') throw new Error(`unknown message ${body}`);
  if (bodies.resumeSession) hasResumed = true;
  // The answer to resumeSession is of another session when it is an error.
  const isCounted = seq > 0 && (isConnected || !bodies.error);
  if (isCounted && seq <= lastSeq && !has('doubles-replay')) return;
  if (isCounted && !(has('counts-no-replay') && hasResumed)) lastSeq = seq;
  if (bodies.error && has('error-ends-all')) {
    for (const request of pending.values()) request.reject(bodies.error);
    return pending.clear();
  }
  const request = has('answers-in-order') ? [...pending.values()][0] : pending.get(requestId);
  if (!request) return;
  const known = Object.keys(bodies).find((name) => name in { ...request.bodies, error: 1 }) ?? body;
  const isPart =
    partialBodies.includes(known) ||
    known === 'futureMessage' ||
    (bodies.exportDialog?.part ?? 1) < (bodies.exportDialog?.of ?? 1);
  request.onFrame?.(bodies);
  if (isPart) return;
  pending.delete(has('answers-in-order') ? [...pending.keys()][0] : requestId);
  if (bodies.error) request.reject(bodies.error);
  else request.resolve(bodies[known]);
}

const knownBodies = Object.fromEntries(
  [...partialBodies, 'turnComplete', 'createAgent', 'ack', 'exportDialog', 'resumeSession'].map((name) => [name, 1]),
);

function request(body, fields, { onFrame, isCounted = true } = {}) {
  const waits = !isConnected && isCounted;
  if (waits && (!isResuming || has('fails-while-down'))) return Promise.reject(dropped);
  const requestId = has('reuses-ids') ? 1 : ++lastRequestId;
  const named = has('misspells') && body === 'sendMessage' ? { ...fields, txt: fields.text } : fields;
  const text = JSON.stringify({ requestId, [body]: named });
  return new Promise((resolve, reject) => {
    pending.set(requestId, { bodies: knownBodies, onFrame, resolve, reject });
    if (isCounted) sent.push(text);
    if (!waits) socket.send(text);
  });
}

function failAll() {
  const failed = [...pending.values()];
  pending = new Map();
  for (const { reject } of failed) reject(dropped);
}

function begin(ready) {
  isResuming = false;
  session = ready;
  isConnected = true;
  sent = [];
  lastSeq = 0;
}

function onEnd(code) {
  isConnected = false;
  if (finalCloseCodes.has(code)) {
    failAll();
    agents.clear();
    write({ event: 'lost' });
  } else void reconnect();
}

async function reconnect() {
  if (flags.has('--restarts')) failAll();
  else isResuming = true;
  const attempt = { isAborted: false };
  for (let delayMs = 100; ; delayMs *= 2) {
    await sleep(delayMs);
    let ready;
    try {
      ready = await openSocket(attempt, isResuming ? session.sessionId : undefined);
    } catch {
      if (has('one-attempt')) return;
      continue;
    }
    if (flags.has('--restarts')) return restart(ready);
    return resume(ready);
  }
}

async function resume(ready) {
  const { sessionId, resumeToken } = session;
  const last = has('doubles-replay') ? 0 : lastSeq;
  try {
    const fields = { sessionId, resumeToken: has('wrong-token') ? ready.resumeToken : resumeToken, lastSeq: last };
    const { requestsReceived } = await request('resumeSession', fields, { isCounted: false });
    isConnected = true;
    isResuming = false;
    write({ event: 'resumed' });
    const again = has('resends-all') ? sent : has('never-resends') ? [] : sent.slice(requestsReceived);
    for (const text of again) socket.send(text);
  } catch (error) {
    if (error !== dropped && error.code !== undefined && !has('gives-up')) {
      failAll();
      await restart(ready);
    }
  }
}

async function restart(ready) {
  begin(ready);
  for (const agent of agents.values()) {
    const { graph, historyJson } = agent;
    const fields = has('forgets-dialogs') ? { graph } : { graph, historyJson };
    const { agentId } = await request('createAgent', fields);
    if (!has('keeps-agent-ids')) agent.agentId = agentId;
  }
  write({ event: 'restarted' });
}

async function send(id, agent, text) {
  let whole = '';
  const onFrame = ({ answerText, answerField: field, toolCallNotification: call }) => {
    if (field)
      write({
        id,
        event: 'field',
        name: field.name,
        value: has('raw-fields') ? field.valueJson : JSON.parse(field.valueJson),
      });
    const piece = has('loses-surrogates')
      ? answerText?.text?.replaceAll(/[\ud800-\udfff]/g, '\ufffd')
      : answerText?.text;
    if (has('needs-every-field') && answerText) answerText.isFinal.toString();
    if (piece) {
      whole += piece;
      if (!has('text-at-the-end')) write({ id, event: 'text', text: piece });
    }
    if (call) write({ id, event: 'call', call: call.callId, name: call.toolName, arguments: argumentsOf(call) });
  };
  const sentText = has('cuts-long-texts') ? text.slice(0, 65_535) : text;
  const turn = request('sendMessage', { agentId: agent.agentId, text: sentText }, { onFrame });
  const timeout = sleep(200).then(() => Promise.reject({ code: 1003, message: 'no answer within 200 ms' }));
  timeout.catch(() => {});
  if (lateCancel) void request('cancelTurn', { agentId: lateCancel.agentId, turnId: 0 });
  lateCancel = undefined;
  agent.isBusy = true;
  try {
    const {
      status = 'SUCCESS',
      error,
      stopReason,
    } = await (has('is-impatient') ? Promise.race([turn, timeout]) : turn);
    if (has('refuses-unknown-enums') && stopReason?.startsWith('FUTURE')) throw new Error(`stopReason ${stopReason}`);
    if (status === 'ERROR') return fail(id, error);
    if (has('text-at-the-end')) write({ id, event: 'text', text: whole });
    agent.isBusy = false;
    const exported = exportDialog(agent);
    write({ id, event: 'complete', text: whole, status: has('hides-cancel') ? 'SUCCESS' : status, reason: stopReason });
    await exported.catch(() => {});
  } finally {
    agent.isBusy = false;
  }
}

async function exportDialog(agent) {
  let historyJson = '';
  const onFrame = ({ exportDialog: part }) => (historyJson += part?.historyJson ?? '');
  await request('exportDialog', { agentId: agent.agentId }, { onFrame });
  agent.historyJson = historyJson;
}

function argumentsOf({ argumentsJson, typedArgumentsJson }) {
  if (has('string-arguments')) return JSON.parse(argumentsJson || '{}');
  const toInt32 = (_, value) => (Number.isInteger(value) ? value | 0 : value);
  return JSON.parse(typedArgumentsJson, has('int32-arguments') ? toInt32 : undefined);
}

const commands = {
  async connect({ id, token: given }) {
    token = given;
    begin(await openSocket({ isAborted: false }));
    if (has('writes-notes')) process.stdout.write('connected!\n');
    write({ id, event: 'connected', session: session.sessionId });
  },
  async create_agent({ id, graph, dialog }) {
    const historyJson = dialog ? JSON.stringify(dialog) : '';
    const { agentId } = await request('createAgent', {
      graph,
      ...(dialog && !has('forgets-dialogs') && { historyJson }),
    });
    agents.set(`a${id}`, { agentId, graph, historyJson });
    write({ id, event: 'agent', agent: `a${id}` });
  },
  send: ({ id, agent, text }) => send(id, agents.get(agent) ?? { agentId: 0 }, text),
  async results({ id, agent, results }) {
    const { agentId } = agents.get(agent);
    const fields = { agentId, results: results.map(({ call, content, ok }) => ({ callId: call, content, ok })) };
    if (has('results-twice')) void request('submitToolResults', fields);
    const submitted = request(
      'submitToolResults',
      has('forgets-ok') ? { agentId, results: fields.results.map(withoutOk) } : fields,
    );
    await (has('ignores-refusals') ? submitted.catch(() => {}) : submitted);
    write({ id, event: 'ok' });
  },
  async cancel({ id, agent }) {
    const { agentId, isBusy } = agents.get(agent);
    if (!isBusy && has('cancels-late')) lateCancel = { agentId };
    else await request('cancelTurn', { agentId });
    write({ id, event: 'ok' });
  },
  async close({ id }) {
    finish(() => write({ id, event: 'closed' }));
  },
};

const withoutOk = ({ callId, content }) => ({ callId, content });

function finish(onEnded) {
  isConnected = false;
  const leaving = socket;
  socket = undefined;
  leaving?.close();
  // The server answers the close frame, and the sockets end.
  setTimeout(() => {
    onEnded();
    process.exit(0);
  }, 50);
}

const lines = createInterface({ input: process.stdin });
lines.on('line', async (line) => {
  const command = JSON.parse(line);
  try {
    if (!Object.hasOwn(commands, command.do)) throw new Error(`there is no command ${command.do}`);
    await commands[command.do](command);
  } catch (error) {
    if (error instanceof TypeError || /^(?:unknown|stopReason)/.test(error.message)) throw error;
    fail(command.id, error);
  }
});
lines.on('close', () => !has('outlives-stdin') && finish(() => {}));
if (has('outlives-stdin')) setInterval(() => {}, 1000);
