// The real server as a child process, and all that can be seen of it from outside.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { connect } from 'turngraph/client';
import { Ear } from './tokenLogReader.mjs';
import { environmentWith } from './hooks.mjs';
import { within } from './timeouts.mjs';

const fileOf = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const cli = fileOf('dist/cli/turngraph.js');

/** What `serve` can be told. */
export async function flagsOfServe() {
  const { stdout } = await promisify(execFile)(process.execPath, [cli, 'serve', '--help']);
  return new Set(stdout.match(/--[a-z][a-z-]*/g));
}

/**
 * Starts a server; `flags` are those of `serve` by their names without the dashes. An exact one computes the same
 * probabilities whoever else speaks.
 */
export async function serving({ flags = {}, overhear = false, exact = false, cacheMegabytes = 0 }) {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-soak-'));
  const [ear, cacheFolder] = [new Ear(join(folder, 'overheard')), join(folder, 'cache')];
  const cache = cacheMegabytes > 0 && { cache: cacheFolder, 'cache-limit': cacheMegabytes };
  const listed = Object.entries({ ...usual, ...cache, ...flags }).flatMap(([flag, value]) => [
    `--${flag}`,
    String(value),
  ]);
  const hooks = [overhear && 'hooks/traceTokens.mjs', exact && 'hooks/noFlashAttention.mjs'].filter(Boolean);
  const env = { ...process.env, ...ear.environment, ...environmentWith(hooks) };
  const child = spawn(process.execPath, [cli, 'serve', '--json', ...listed], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const complaints = [];
  createInterface(child.stderr).on('line', (line) => isComplaint(line) && complaints.push(line));
  const exited = once(child, 'exit').then(([code, signal]) => code ?? signal);
  const [line] = await Promise.race([
    once(createInterface(child.stdout), 'line'),
    exited.then((code) => Promise.reject(new Error(`the server ended with ${code}: ${complaints.join('; ')}`))),
  ]);
  const { port, pid } = JSON.parse(line);
  const url = `ws://127.0.0.1:${port}`;
  return {
    url,
    pid,
    cacheFolder: cacheMegabytes > 0 ? cacheFolder : undefined,
    /** What the server logged of failures inside. */
    complaints,
    connect: (codec, options) => connect(url, { codec, ...options }),
    heard: () => ear.heard(),
    /** The text of /metrics; undefined for a server without. */
    async metrics() {
      const page = await fetch(`http://127.0.0.1:${port}/metrics`);
      return page.status === 200 ? page.text() : undefined;
    },
    /** Ends it by SIGTERM; gives its exit code and how many seconds it took. */
    async stop() {
      const began = performance.now();
      child.kill('SIGTERM');
      const code = await within(30, 'the end of the server', exited).catch(() => {
        child.kill('SIGKILL');
        return 'no end within 30 s';
      });
      await rm(folder, { recursive: true, force: true });
      return { code, seconds: (performance.now() - began) / 1000 };
    },
  };
}

const usual = {
  port: 0,
  'parent-pid': process.pid,
  'log-level': 'warn',
  graphs: fileOf('graphs'),
  catalogue: fileOf('models.json'),
  'max-connection-rate': 1000,
};

// pino's number for an error; a line that is no JSON comes from Node itself or from the engine.
const errorLevel = 50;

function isComplaint(line) {
  try {
    return JSON.parse(line).level >= errorLevel;
  } catch {
    return line.trim() !== '';
  }
}
