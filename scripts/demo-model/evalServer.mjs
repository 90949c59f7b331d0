// Starts a server whose only model is the file to evaluate, under the name that the shipped graphs use.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connect } from '../../dist/client/index.js';
import { startServer } from '../../dist/index.js';

/** The name of the model in the catalogue. */
export const modelName = 'turngraph-demo';

/** Calls `use` with a client of such a server, then stops it. */
export async function withClient(file, use) {
  const folder = await mkdtemp(join(tmpdir(), 'demo-model-'));
  const catalogue = join(folder, 'models.json');
  await writeFile(catalogue, JSON.stringify({ models: [catalogueEntry(resolve(file))] }));
  const graphs = fileURLToPath(new URL('../../graphs', import.meta.url));
  const server = await startServer({ port: 0, catalogue, graphs, threads: 1, logLevel: 'error' });
  try {
    const client = await connect(server.url);
    await use(client);
    await client.close();
  } finally {
    await server[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  }
}

function catalogueEntry(path) {
  const variant = { engine: 'llama-cpp', local_path: dirname(path), files: [basename(path)], context_size: 2048 };
  return { name: modelName, default_sampling: { temperature: 0 }, variants: [variant] };
}
