// Sends structured requests of hostile sizes (schemas, enums, unknown keys, patterns, templates, tools, histories, messages up
// to the limits) to a real server with the demo model. No request may hold the event loop for more than 100 ms, and the
// memory of the server stays below a bound.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createRandom, pick } from '../seededRandom.mjs';
import { withTimeout } from '../stress/timeouts.mjs';
import { cases } from './requests/cases.mjs';
import { FrameClient } from './requests/frameClient.mjs';

export const name = 'requests';
export const defaultCount = 10_000;

const maxHoldMs = 100;
/** Resident memory above that of the started server, which has loaded the demo model. */
const maxGrowthBytes = 1_000_000_000;
/** A case is repeated when it held the event loop for too long: other programs and the garbage collector take time too. */
const repetitions = 3;
const maxCaseSeconds = 300;

/**
 * Runs cases until `count` requests have been answered.
 * @param {{ count: number, seed: number, from?: number, log?: (line: string) => void, maxHold?: () => number }} run
 *   `from` is the first case; `maxHold` returns the longest allowed hold of the event loop in milliseconds, at the moment; default: 100.
 * @throws {Error} When cases held the event loop or took more memory than allowed, or when the server ended.
 */
export async function fuzz({ count, seed, from = 0, log = () => {}, maxHold = () => maxHoldMs }) {
  const server = await startServer();
  try {
    return await fuzzServer(server, { count, seed, from, log, maxHold });
  } finally {
    await server.stop();
  }
}

async function fuzzServer(server, { count, seed, from, log, maxHold }) {
  const tally = { requests: 0, errors: 0, turns: 0, longestHoldMs: 0, peakBytes: 0, violations: [] };
  const names = Object.keys(cases);
  const warmUp = await runCase(server, names[0], seed, 0);
  const maxBytes = warmUp.peakBytes + maxGrowthBytes;
  // `maxHold` may measure the machine, which takes time.
  const isTooLong = (holdMs) => holdMs > maxHoldMs && holdMs > maxHold();
  for (let index = from; tally.requests < count; index++) {
    const name = names[index % names.length];
    const figures = await runCase(server, name, seed, index);
    let holdMs = figures.longestHoldMs;
    for (let left = repetitions - 1; isTooLong(holdMs) && left > 0; left--) {
      holdMs = Math.min(holdMs, (await runCase(server, name, seed, index)).longestHoldMs);
    }
    tally.requests += figures.requests;
    tally.errors += figures.errors;
    tally.turns += figures.turns;
    tally.peakBytes = Math.max(tally.peakBytes, figures.peakBytes);
    tally.longestHoldMs = Math.max(tally.longestHoldMs, holdMs);
    const maxMs = isTooLong(holdMs) ? maxHold() : maxHoldMs;
    const violation = findViolation({ holdMs, peakBytes: figures.peakBytes }, { maxMs, maxBytes });
    if (violation === undefined) continue;
    tally.violations.push(`case ${index} of seed ${seed}, ${name}: ${violation}; ${figures.description}`);
    log(tally.violations.at(-1));
    if (tally.violations.length >= maxViolations) break;
  }
  const { requests, errors, turns, longestHoldMs, peakBytes, violations } = tally;
  log(
    `${requests} requests, ${errors} of them refused, ${turns} turns: the event loop was held for at most ` +
      `${longestHoldMs.toFixed(0)} ms, and ${Math.round(peakBytes / 1e6)} MB were resident`,
  );
  if (violations.length > 0) throw new Error(`${violations.length} cases broke a bound:\n${violations.join('\n')}`);
  return tally;
}

const maxViolations = 20;

function findViolation({ holdMs, peakBytes }, { maxMs, maxBytes }) {
  if (holdMs > maxMs) return `the event loop was held for ${holdMs.toFixed(0)} ms, and ${maxMs.toFixed(0)} are allowed`;
  if (peakBytes > maxBytes)
    return `${Math.round(peakBytes / 1e6)} MB were resident, and ${Math.round(maxBytes / 1e6)} are allowed`;
  return undefined;
}

/** Runs one case on a connection of its own. It is the same in each repetition. */
async function runCase(server, name, seed, index) {
  const random = createRandom((seed + index * 2_654_435_761) >>> 0);
  const codec = pick(random, ['turngraph.v1.proto', 'turngraph.v1.json']);
  const engine = pick(random, ['mock', 'llama-cpp']);
  const client = await FrameClient.connect(server.url, codec);
  try {
    await client.request('configureSession', { engine });
    await server.begin();
    const work = withTimeout(maxCaseSeconds, `case ${index} of seed ${seed}, ${name}`, cases[name](client, random));
    await Promise.race([work, server.ended]);
    const figures = await server.end();
    return { ...figures, ...client.tally, description: `${codec}, ${engine}: ${client.describe()}` };
  } finally {
    client.close();
  }
}

const serverFile = fileURLToPath(new URL('requests/server.mjs', import.meta.url));
const repositoryFile = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

async function startServer() {
  const options = {
    port: 0,
    graphs: repositoryFile('graphs'),
    catalogue: repositoryFile('models.json'),
    models: join(tmpdir(), 'turngraph-fuzz-models'),
    cache: join(tmpdir(), 'turngraph-fuzz-cache'),
    logLevel: 'silent',
    maxConnectionRate: 100_000,
    modelIdle: 100_000,
    preload: ['turngraph-demo'],
    threads: 1,
    slots: 4,
    gpu: 'off',
  };
  const child = fork(serverFile, [JSON.stringify(options)]);
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`the server ended with ${code ?? signal}`);
  });
  ended.catch(() => {});
  const ask = async (message) => {
    const answer = once(child, 'message');
    child.send(message);
    const [figures] = await Promise.race([answer, ended]);
    return figures;
  };
  const [{ url }] = await Promise.race([once(child, 'message'), ended]);
  return {
    url,
    ended,
    begin: () => ask({ begin: true }),
    end: () => ask({ end: true }),
    async stop() {
      const exit = once(child, 'exit');
      if (child.exitCode === null && child.signalCode === null) {
        child.kill();
        await exit;
      }
    },
  };
}
