// Starts the server as a child process, with optional hooks that log its tokens.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { connect } from 'turngraph/client';
import { TokenLogReader } from './tokenLogReader.mjs';
import { hookEnvironment } from './hooks.mjs';
import { withTimeout } from './timeouts.mjs';

/**
 * The interface of a server that the stress tests need.
 * @typedef {object} ServerUnderTest
 * @property {(codec: 'proto' | 'json') => Promise<import('../../src/client/index.ts').Client>} connect
 * @property {() => readonly import('./traceTokens.mjs').TokenTrace[]} readTraces The traces since the last call.
 */

/**
 * The result of a stress test.
 * @template Figures
 * @typedef {object} TestResult
 * @property {boolean} ok
 * @property {Figures} figures
 * @property {readonly string[]} faults One sentence for each failure.
 */

/**
 * @typedef {object} TestSize
 * @property {string} model
 * @property {number} agents
 * @property {(line: string) => void} [log]
 */

const fileOf = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const cli = fileOf('dist/cli/turngraph.js');

/** Reads the flags of `serve` from its --help. */
export async function readServeFlags() {
  const { stdout } = await promisify(execFile)(process.execPath, [cli, 'serve', '--help']);
  return new Set(stdout.match(/--[a-z][a-z-]*/g));
}

/**
 * Starts a server; `flags` are those of `serve` by their names without the dashes, `nodeFlags` those of Node. With `noFlashAttention` it computes the
 * same probabilities in batches of any shape. A `cacheFolder` of the caller stays, and may be that of an earlier server.
 */
export async function startServer(options) {
  const { flags = {}, nodeFlags = [], traceTokens = false, noFlashAttention = false, cacheMegabytes = 0 } = options;
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-soak-'));
  const tokenLog = new TokenLogReader(join(folder, 'tokens.jsonl'));
  const { cacheFolder = join(folder, 'cache') } = options;
  const cache = cacheMegabytes > 0 && { cache: cacheFolder, 'cache-limit': cacheMegabytes };
  const listed = Object.entries({ ...defaultFlags, ...cache, ...flags }).flatMap(([flag, value]) => [
    `--${flag}`,
    String(value),
  ]);
  const hooks = [traceTokens && 'hooks/traceTokens.mjs', noFlashAttention && 'hooks/noFlashAttention.mjs'].filter(
    Boolean,
  );
  const env = { ...process.env, ...tokenLog.environment, ...hookEnvironment(hooks) };
  const child = spawn(process.execPath, [...nodeFlags, cli, 'serve', '--json', ...listed], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const errorLines = [];
  createInterface(child.stderr).on('line', (line) => isErrorLine(line) && errorLines.push(line));
  const exited = once(child, 'exit').then(([code, signal]) => code ?? signal);
  const [line] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    exited.then((code) => Promise.reject(new Error(`the server ended with ${code}: ${errorLines.join('; ')}`))),
  ]);
  const { port, pid } = JSON.parse(line);
  const url = `ws://127.0.0.1:${port}`;
  return {
    url,
    port,
    pid,
    cacheFolder: cacheMegabytes > 0 ? cacheFolder : undefined,
    /** Lines that the server logged at level error. */
    errorLines,
    /** Connects a client; `options.url`: through a proxy. */
    connect: (codec, { url: proxyUrl = url, ...options } = {}) => connect(proxyUrl, { codec, ...options }),
    readTraces: () => tokenLog.readNew(),
    /** The text of /metrics; undefined when it is off. */
    async metrics() {
      const page = await fetch(`http://127.0.0.1:${port}/metrics`);
      return page.status === 200 ? page.text() : undefined;
    },
    /** Stops the server with SIGTERM; returns its exit code and how many seconds it took, which are at most 30 times `patience`. */
    async stop(patience = 1) {
      const began = performance.now();
      child.kill('SIGTERM');
      const code = await withTimeout(30 * patience, 'the end of the server', exited).catch(() => {
        child.kill('SIGKILL');
        return `no end within ${30 * patience} s`;
      });
      await rm(folder, { recursive: true, force: true });
      return { code, seconds: (performance.now() - began) / 1000 };
    },
  };
}

const defaultFlags = {
  port: 0,
  'parent-pid': process.pid,
  'log-level': 'warn',
  graphs: fileOf('graphs'),
  catalogue: fileOf('models.json'),
  'max-connection-rate': 1000,
  // Sessions of dropped clients are detached, and end before the counters are read.
  'resume-grace': 1,
};

// pino's number for level error; a line that is not JSON comes from Node itself or from the engine.
const errorLevel = 50;

function isErrorLine(line) {
  try {
    return JSON.parse(line).level >= errorLevel;
  } catch {
    return line.trim() !== '';
  }
}
