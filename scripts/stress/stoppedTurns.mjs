// Stress test `stopped`: turns of every kind that a cancel, their time limit, a lost connection or a crash of the engine ends;
// counts what is left of them in the process of the server.
import { setMaxListeners } from 'node:events';
import { readdir } from 'node:fs/promises';
import { setImmediate as nextRound } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { queryObjects } from 'node:v8';
import { WebSocket } from 'ws';
import { createRng } from '../seededRandom.mjs';
import { findLeftovers } from './counters.mjs';
import { runConcurrently } from './timeouts.mjs';

export const name = 'stopped';
export const defaults = { count: 10_000, agents: 32 };

/** Starts a server with the mock engine in this process, and stops its turns. */
export async function run(_, { count, agents, log }) {
  const [{ start }, { readServerOptions }, { mockEngine }, { readMockScript }, { Fault }, { connect }] =
    await Promise.all([
      import('../../dist/server/start.js'),
      import('../../dist/server/config.js'),
      import('../../dist/inference/mock/engine.js'),
      import('../../dist/inference/mock/script.js'),
      import('../../dist/protocol/fault.js'),
      import('turngraph/client'),
    ]);
  const mock = mockEngine({ script: readMockScript(JSON.stringify(script), 'script') });
  const { engine, crash } = crashingEngine(mock, Fault);
  const graphFolder = fileURLToPath(new URL('../../graphs', import.meta.url));
  const limits = { turnTimeout: turnSeconds, resumeGrace: 0, maxConnectionRate: 1000 };
  const options = readServerOptions({ port: 0, graphs: graphFolder, logLevel: 'silent', cacheLimit: 0, ...limits });
  const server = await start(options.value, { engines: { mock: engine, 'llama-cpp': mockEngine() } });
  try {
    log(`${count} turns`);
    const { tally, left, ...counts } = await stopAndCount(
      { server, connect, crash },
      { turns: count, clients: agents },
    );
    const faults = [...left, ...growth(counts, Math.max(50, count / 100))].map((line) => `at the end ${line}`);
    return { ok: faults.length === 0, figures: { ends: tally, ...counts }, faults };
  } finally {
    await server[Symbol.asyncDispose]();
  }
}

/** Seconds that a turn may take: one that nothing else ends ends so. */
export const turnSeconds = 0.2;

/** The answers of a mock engine: a call, and a text that takes longer than a turn may. */
export const script = [
  { match: 'call', node: 'detect', answer: '<tool_call>\n{"name":"look","arguments":{}}\n</tool_call>' },
  { answer: 'The lamp stands in the hall and shines. '.repeat(100), delay_ms: 2 },
];

const answer = { type: 'Generate', params: { sampling: { max_tokens: 512, max_tokens_per_second: 20 } } };
const look = { name: 'look', description: 'Looks around.', parameters: [] };

const detect = (params) => ({
  start_node: 'detect',
  nodes: {
    detect: {
      type: 'ToolCall',
      params: { tools: [look], ...params },
      exits: { tool_called: 'answer', no_tool_called: 'answer', ...(params.await_results && { no_results: 'answer' }) },
    },
    answer,
  },
});

/** One graph for each kind of turn. The model is asked last, so that there is something to stop. */
const graphs = {
  generate: { start_node: 'answer', nodes: { answer } },
  toolCall: detect({}),
  // The time that it waits for results is not that of the turn.
  awaitedResults: detect({ await_results: true, results_timeout_ms: 50 }),
  guardrail: {
    start_node: 'guard',
    nodes: {
      guard: { type: 'Guardrail', params: { inline_strings: ['secret'] }, exits: { not_triggered: 'answer' } },
      answer: { ...answer, exits: { default: 'judge' } },
      judge: { type: 'Guardrail', params: { watch: 'answer', inline_strings: ['secret'] } },
    },
  },
  canned: {
    start_node: 'hello',
    nodes: {
      hello: { type: 'CannedResponse', params: { inline_strings: ['Hello.'] }, exits: { default: 'answer' } },
      answer,
    },
  },
  retrieval: {
    start_node: 'lore',
    nodes: {
      lore: {
        type: 'Retrieve',
        params: { string_storage: 'lore/pellmoor.kb.json' },
        exits: { found: 'answer', not_found: 'answer' },
      },
      answer,
    },
  },
};

const kinds = Object.keys(graphs);

/**
 * The parts of a server under test that runs in this process.
 * @typedef {object} Testbed
 * @property {{ readonly url: string, readonly port: number }} server
 * @property {typeof import('../../src/client/connect.ts').connect} connect
 * @property {string} [model] A model of the engine llama-cpp; absent: the mock engine.
 * @property {() => unknown} crash Lets the engine crash.
 */

/**
 * @typedef {object} Size
 * @property {number} turns
 * @property {number} [clients]
 * @property {number} [crashes] How many turns end so.
 * @property {number} [firstCrashes] How many do before the count. Default: one of each kind.
 * @property {number} [tolerance] It counts again while there is so much more. Default: 10.
 * @property {readonly string[]} [counted] Of `classes`. Default: all.
 */

/**
 * Stops turns of all kinds, and counts what the process has before and after them, while the clients are connected. Some turns
 * before that let it use all code for the first time.
 * @param {Testbed} testbed
 * @param {Size} size
 */
export async function stopAndCount(testbed, size) {
  const { turns, clients: clientCount = 6, firstCrashes = kinds.length, tolerance = 10 } = size;
  const clients = await Promise.all(Array.from({ length: clientCount }, () => openClient(testbed, kinds)));
  await stopTurns(testbed, clients, { turns: Math.min(turns, 60), crashes: firstCrashes });
  // What an agent makes at its first turn is kept until it ends.
  await Promise.all(clients.map((client) => cancelOneOfEachKind(client)));
  const before = await countResources(size);
  const tally = await stopTurns(testbed, clients, size);
  let after = await countResources(size);
  // An engine process may be starting again.
  for (let tries = 0; tries < 10 && grown({ before, after }, tolerance).length > 0; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const counted = grown({ before, after }, tolerance).filter((name) => name in classes);
    after = { ...after, ...(await countResources({ counted })) };
  }
  await Promise.all(clients.map(({ client }) => client.close()));
  return { tally, before, after, left: await serverLeftovers(testbed) };
}

/** What there is more of, at least so many: one sentence each. */
export const growth = ({ before, after }, atLeast) =>
  grown({ before, after }, atLeast).map((name) => `${name}: ${before[name]} before, ${after[name]} after`);

const grown = ({ before, after }, atLeast) =>
  Object.keys(after).filter((name) => after[name] - before[name] >= atLeast);

/** What the metrics of a server still count without a client. */
function serverLeftovers({ server: { url, port }, connect, model = '' }) {
  const headers = { connection: 'close' };
  const metrics = async () => (await fetch(`http://127.0.0.1:${port}/metrics`, { headers })).text();
  return findLeftovers({ metrics, connect: () => connect(url) }, model);
}

/**
 * Runs turns of all kinds, and ends each of them.
 * @returns {Promise<Record<string, number>>} How many turns ended in which way.
 */
async function stopTurns(testbed, clients, { turns, crashes = Math.ceil(turns / 5) }) {
  const rng = createRng(1);
  const cases = Array.from({ length: turns }, (_, index) => ({
    kind: kinds[index % kinds.length],
    end: index < crashes ? 'crash' : ['cancel', 'timeout', 'disconnect'][Math.floor(index / kinds.length) % 3],
  }));
  /** @type {Record<string, number>} */
  const tally = {};
  const idle = [...clients];
  await runConcurrently(clients.length, rng.shuffled(cases), async ({ kind, end }) => {
    const own = idle.pop();
    const client = end === 'disconnect' ? await openClient(testbed, [kind]) : own;
    const how = await stopTurn(client, { kind, end, rng, crash: testbed.crash });
    tally[how] = (tally[how] ?? 0) + 1;
    idle.push(own);
  });
  return tally;
}

async function cancelOneOfEachKind(client) {
  const rng = createRng(1);
  for (const kind of kinds) await stopTurn(client, { kind, end: 'cancel', rng });
}

async function openClient({ server: { url }, connect, model }, agentKinds) {
  let socket;
  class DroppedSocket extends WebSocket {
    constructor(...args) {
      super(...args);
      socket = this;
    }
  }
  const client = await connect(url, { WebSocket: DroppedSocket, reconnect: false });
  await client.request('configureSession', { engine: model === undefined ? 'mock' : 'llama-cpp' });
  const agents = {};
  for (const kind of agentKinds)
    agents[kind] = await client.createAgent({ graph: graphs[kind], defaultModelName: model ?? '' });
  return { client, agents, drop: () => socket.terminate() };
}

/** Ends a turn. Returns how it ended. */
async function stopTurn({ agents, drop }, { kind, end, rng, crash }) {
  const turn = agents[kind].send(kind === 'generate' ? 'Tell me a long story.' : 'call');
  const done = turn.done.catch((error) => error);
  // At once, or after the first text or call.
  if (end !== 'timeout' && rng.oneIn(2)) await Promise.race([done, firstOf(turn.text), firstOf(turn.calls)]);
  if (end === 'cancel') turn.cancel();
  if (end === 'disconnect') drop();
  if (end === 'crash') await crash();
  const { status, error, name } = await done;
  return (status === 'ERROR' ? error.name : (status ?? name)).toLowerCase();
}

async function firstOf(items) {
  for await (const _ of items) return;
}

/** Counts what the process has open, and what is in its memory. */
async function countResources({ counted = Object.keys(classes) }) {
  for (let round = 0; round < 20; round++) await nextRound();
  const active = process.getActiveResourcesInfo();
  const timers = active.filter((name) => name === 'Timeout').length;
  return {
    runningTimers: timers,
    handles: active.length - timers,
    files: (await readdir('/proc/self/fd').catch(() => [])).length,
    ...countObjects(counted),
  };
}

const timer = setTimeout(() => undefined, 0);
clearTimeout(timer);

// What `addEventListener` makes: the first of a list that the target has by the type of the event.
const listenerClass = () => {
  const target = new EventTarget();
  target.addEventListener('abort', () => undefined);
  const maps = Object.getOwnPropertySymbols(target).map((symbol) => target[symbol]);
  return maps.find((map) => typeof map?.get === 'function').get('abort').next.constructor;
};

/** What is counted in memory. A timer that is not to keep the process alive is in no other list. */
const classes = {
  timers: timer.constructor,
  listeners: listenerClass(),
  signals: AbortSignal,
  promises: Promise,
  functions: Function,
};

/**
 * How many objects there are of each of these classes, in one walk of the memory: it takes half a second. For the walk they all
 * have one more prototype, and say of which class they are.
 */
function countObjects(names) {
  function Counted() {}
  const counts = Object.fromEntries(names.map((name) => [name, 0]));
  const restore = names.map((name) => {
    const { prototype } = classes[name];
    const parent = Object.getPrototypeOf(prototype);
    const own = Object.getOwnPropertyDescriptor(prototype, inspect.custom);
    Object.setPrototypeOf(prototype, Counted.prototype);
    Object.defineProperty(prototype, inspect.custom, { value: () => name, configurable: true });
    return () => {
      Object.setPrototypeOf(prototype, parent);
      delete prototype[inspect.custom];
      if (own) Object.defineProperty(prototype, inspect.custom, own);
    };
  });
  try {
    // Since Node 20.13.
    for (const name of queryObjects?.(Counted, { format: 'summary' }) ?? []) if (name in counts) counts[name]++;
  } finally {
    for (const undo of restore) undo();
  }
  return counts;
}

/** An engine whose generations fail as if its process had crashed, whenever `crash` is called. */
export function crashingEngine(engine, Fault) {
  const crashes = new EventTarget();
  setMaxListeners(0, crashes);
  const override = (target, replacements) =>
    new Proxy(target, {
      get(_, name) {
        if (name in replacements) return replacements[name];
        const member = Reflect.get(target, name, target);
        return typeof member === 'function' ? member.bind(target) : member;
      },
    });
  const generate = (sequence) => async (prompt, options) => {
    const abort = new AbortController();
    const stop = () => abort.abort();
    let hasCrashed = false;
    const onCrash = () => {
      hasCrashed = true;
      stop();
    };
    crashes.addEventListener('crash', onCrash);
    options.signal.addEventListener('abort', stop);
    if (options.signal.aborted) stop();
    try {
      const completion = await sequence.generate(prompt, { ...options, signal: abort.signal });
      if (hasCrashed) throw new Fault('ENGINE_CRASHED', 'the engine has crashed');
      return completion;
    } finally {
      crashes.removeEventListener('crash', onCrash);
      options.signal.removeEventListener('abort', stop);
    }
  };
  const openSequence = (model) => (options) => {
    const sequence = model.openSequence(options);
    return override(sequence, { generate: generate(sequence) });
  };
  const load = async (...args) => {
    const model = await engine.load(...args);
    return override(model, { openSequence: openSequence(model) });
  };
  return { engine: override(engine, { load }), crash: () => void crashes.dispatchEvent(new Event('crash')) };
}
