// npm run load [-- OPTIONS]: what a graph server itself costs, with an engine that answers at once: the mock engine, or with --http a server.
//   --sessions N   sessions, each with a connection and an agent; default 1000
//   --seconds N    how long each kind of turns takes; default 20
//   --tokens N     tokens of a long answer; a short one has 1; default 100
//   --codec NAME   proto or json; default proto
//   --slots N      turns that generate at a time; default 256
//   --replay N     bytes of frames that the server keeps of each session (--max-replay-bytes), which fill at first; default 65536
//   --goal N       short turns a minute, below which the exit code is 1; default 5000
//   --http         over the http engine, against an inference server that answers at once in a process of its own
//   --profile      adds where the server spends its CPU time; it is slower then
//   --json         one JSON document on standard output instead of lines
import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { formatLoad } from './load/format.mjs';
import { LoadSession } from './load/session.mjs';
import { readUsage } from './load/usage.mjs';
import { runTurns } from './load/turns.mjs';
import { readProfile } from './load/profile.mjs';
import { exitWithUsageError, readArguments, wholeNumber } from './options.mjs';
import { startServer } from './stress/serverProcess.mjs';

const options = readOptions();
const folder = await mkdtemp(join(tmpdir(), 'turngraph-load-'));
const endpoint = options.http ? startEndpoint() : undefined;
try {
  const report = await measure();
  if (options.json) console.log(JSON.stringify(report, null, 2));
  else for (const line of formatLoad(report, options)) console.log(line);
  process.exitCode = report.failed.length === 0 && report.short.turnsPerMinute >= options.goal ? 0 : 1;
} finally {
  endpoint?.kill();
  await rm(folder, { recursive: true });
}

async function measure() {
  const server = await start();
  const sessions = [];
  try {
    const idle = await readUsage(server);
    const began = performance.now();
    // As many handshakes at a time as a listen backlog holds.
    while (sessions.length < options.sessions) {
      const missing = Math.min(50, options.sessions - sessions.length);
      sessions.push(
        ...(await Promise.all(Array.from({ length: missing }, () => LoadSession.open(server.url, options)))),
      );
    }
    const openSeconds = (performance.now() - began) / 1000;
    const open = await readUsage(server);
    // The first turns compile functions and fill caches.
    await runTurns({ server, sessions, text: 'short', seconds: options.seconds / 5 });
    const short = await runTurns({ server, sessions, text: 'short', seconds: options.seconds });
    const long = await runTurns({ server, sessions, text: 'long', seconds: options.seconds });
    const failed = sessions.flatMap(({ failures }) => failures);
    await Promise.all(sessions.map((session) => session.close()));
    return { idle, open, openSeconds, short, long, failed: [...new Set(failed)], profile: await end(server) };
  } finally {
    await server.stop();
  }
}

async function start() {
  const script = join(folder, 'mock.json');
  const answer = Array.from({ length: options.tokens }, (_, index) => `w${index}`).join(' ');
  await writeFile(
    script,
    JSON.stringify([
      { match: '^short', answer: 'Yes.' },
      { match: '^long', answer },
    ]),
  );
  const catalogue = endpoint && (await writeCatalogue());
  const flags = {
    ...(catalogue && { catalogue }),
    'mock-script': script,
    'max-connections': options.sessions,
    'max-connection-rate': 1_000_000,
    slots: options.slots,
    'max-replay-bytes': options.replay,
  };
  return startServer({ flags, nodeFlags: options.profile ? ['--cpu-prof', `--cpu-prof-dir=${folder}`] : [] });
}

function startEndpoint() {
  const file = fileURLToPath(new URL('./load/endpoint.mjs', import.meta.url));
  const sizes = [options.tokens, options.slots].map(String);
  return spawn(process.execPath, [file, ...sizes], { stdio: ['ignore', 'pipe', 'inherit'] });
}

async function writeCatalogue() {
  const base_url = await new Promise((resolve) => createInterface({ input: endpoint.stdout }).once('line', resolve));
  const file = join(folder, 'models.json');
  const variants = [{ engine: 'http', api: 'llama-server', base_url }];
  await writeFile(file, JSON.stringify({ models: [{ name: 'load', variants }] }));
  return file;
}

// Node writes the profile when the server ends.
async function end(server) {
  if (!options.profile) return undefined;
  await server.stop();
  return readProfile(folder, server.pid);
}

function readOptions() {
  const { values } = readArguments({
    options: {
      sessions: { type: 'string', default: '1000' },
      seconds: { type: 'string', default: '20' },
      tokens: { type: 'string', default: '100' },
      codec: { type: 'string', default: 'proto' },
      slots: { type: 'string', default: '256' },
      replay: { type: 'string', default: '65536' },
      goal: { type: 'string', default: '5000' },
      http: { type: 'boolean', default: false },
      profile: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  });
  const { codec, http, profile, json } = values;
  if (codec !== 'proto' && codec !== 'json') exitWithUsageError(`--codec must be proto or json, not "${codec}"`);
  return {
    codec,
    http,
    profile,
    json,
    sessions: wholeNumber('sessions', values.sessions),
    seconds: wholeNumber('seconds', values.seconds),
    tokens: wholeNumber('tokens', values.tokens, 2),
    slots: wholeNumber('slots', values.slots),
    replay: wholeNumber('replay', values.replay, 0),
    goal: wholeNumber('goal', values.goal, 0),
  };
}
