// Starts the measured server: `serve` in a process of its own, as in production.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** The program `turngraph`. */
export const cli = fileURLToPath(new URL('../../dist/cli/turngraph.js', import.meta.url));
const run = promisify(execFile);
let serveFlags;

/** Reads the flags of `serve` from its --help, so that older servers can be measured, too. */
export function readServeFlags() {
  serveFlags ??= run(process.execPath, [cli, 'serve', '--help']).then(
    ({ stdout }) => new Set([...stdout.matchAll(/^ {2}--([a-z-]+)/gm)].map(([, flag]) => flag)),
  );
  return serveFlags;
}

/**
 * Starts `serve` with one model under the name "bench" in its catalogue.
 * @param flags values by flag name; flags that `serve` does not have are left out.
 * @param nodeFlags flags of Node, for profiles.
 */
export async function startServer({ file, contextSize = 0, flags = {}, nodeFlags = [] }) {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-bench-serve-'));
  const catalogue = await writeCatalogue(folder, file, contextSize);
  const available = await readServeFlags();
  const all = { 'log-level': 'error', 'engine-process': 'in', cache: join(folder, 'cache'), ...flags };
  const given = Object.entries(all)
    .filter(([flag]) => available.has(flag))
    .flatMap(([flag, value]) => [`--${flag}`, String(value)]);
  const fixed = ['--port', '0', '--json', '--catalogue', catalogue, '--graphs', folder, '--parent-pid', process.pid];
  const start = performance.now();
  const child = spawn(process.execPath, [...nodeFlags, cli, 'serve', ...fixed.map(String), ...given], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  const close = async () => {
    child.kill('SIGTERM');
    await exited;
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const { port } = await readListeningLine(child, exited);
    const listeningMs = performance.now() - start;
    return { url: `ws://127.0.0.1:${port}`, pid: child.pid, start, listeningMs, cache: join(folder, 'cache'), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Writes a catalogue with a model under the name "bench" into a folder; returns its path. */
export async function writeCatalogue(folder, file, context_size) {
  const catalogue = join(folder, 'models.json');
  const variant = { engine: 'llama-cpp', local_path: dirname(file), files: [basename(file)], context_size };
  await writeFile(catalogue, JSON.stringify({ models: [{ name: 'bench', variants: [variant] }] }));
  return catalogue;
}

async function readListeningLine(child, exited) {
  const line = once(createInterface(child.stdout), 'line').then(([text]) => JSON.parse(text));
  const ended = exited.then(([code]) => {
    throw new Error(`serve ended with ${code} before it listened`);
  });
  return Promise.race([line, ended]);
}

/** Reads the resident bytes of a process, on Linux without mapped files. */
export async function readMemoryBytes(pid) {
  try {
    const status = await readFile(`/proc/${pid}/status`, 'utf8');
    return Number(/^RssAnon:\s+(\d+) kB/m.exec(status)?.[1]) * 1024;
  } catch {
    const output = await run('ps', ['-o', 'rss=', '-p', String(pid)]).catch(() => undefined);
    return output ? Number(output.stdout) * 1024 : NaN;
  }
}
