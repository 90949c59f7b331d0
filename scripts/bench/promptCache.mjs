// Prompt caches of the benchmark: cache folders that servers share one after the other, filled with `turngraph warm`.
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cli, writeCatalogue } from './server.mjs';

const run = promisify(execFile);

/** Creates a folder for caches; `close` removes it. */
export async function createCacheFolder() {
  const path = await mkdtemp(join(tmpdir(), 'turngraph-bench-cache-'));
  return { path, close: () => rm(path, { recursive: true, force: true }) };
}

/** Fills the prompt cache in a folder with the head of a graph, as an installer does; options as those of the server. */
export async function fillPromptCache(folder, graph, { file, contextSize }) {
  const catalogue = await writeCatalogue(folder, file, contextSize);
  const graphFile = join(folder, 'graph.json');
  await writeFile(graphFile, JSON.stringify(graph));
  const flags = ['--catalogue', catalogue, '--graphs', folder, '--cache', folder];
  await run(process.execPath, [cli, 'warm', graphFile, ...flags]);
}

/**
 * Starts a server with its own choice of threads and an engine process, as by default, whose model an agent of the graph has
 * loaded. Its cache folder may be that of an earlier one.
 */
export async function restartServer(bench, { cache, ...options }, graph) {
  const flags = { slots: 4, cache, 'engine-process': 'child', threads: undefined };
  const server = await bench.server({ ...options, flags });
  const client = await bench.client(server);
  const agent = await client.createAgent({ graph });
  const close = async () => {
    await client.close();
    await server.close();
  };
  return { client, agent, close };
}

/** @throws Error when a turn reused fewer tokens than are in the prompt cache. */
export function checkReused({ reused }, least) {
  if (reused < least) throw new Error(`${reused} tokens were reused, ${least} are in the prompt cache`);
}

/** @throws Error when more than the head of the template was in a cache before a turn that is to be cold. */
export function checkCold({ reused }) {
  if (reused > 16) throw new Error(`${reused} tokens of a cold prompt were reused`);
}
