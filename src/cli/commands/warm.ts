import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { connect, type Client } from '../../client/index.ts';
import { describeError } from '../../fault.ts';
import { findGraph } from '../findGraph.ts';
import { readJsonFile } from '../jsonFile.ts';
import { assertModelName } from '../modelFile.ts';
import { engineOptions, serverFlags, serverOptions } from '../options.ts';

interface WarmFlags {
  readonly model?: string;
  readonly [serverFlag: string]: unknown;
}

/** `turngraph warm`: fills the prompt cache with the heads of the prompts of graphs, at install time. */
export const warmCommand = (): Command =>
  serverFlags(
    new Command('warm')
      .description('evaluate system prompts and tools of graphs, and keep them in the cache folder for later servers')
      .argument('<graph...>', 'graph files, or names in the graphs folder')
      .option('--model <name>', 'model of the nodes that name none: a name in the catalogue'),
    ['graphs', 'catalogue', 'models', 'cache', 'cacheLimit', 'extend', 'storageRoot', 'slots', ...engineOptions],
  ).action(async (graphs: string[], { model = '', ...flags }: WarmFlags) => {
    assertModelName(model);
    const settings = serverOptions({ ...flags, port: 0, logLevel: 'error', watchModels: 'off' });
    const found = await Promise.all(graphs.map((graph) => findGraph(graph, settings.graphs)));
    const file = found.find(({ isName }) => !isName);
    // As in `check`: the storage files of a graph file are in its folder.
    const storageRoot = settings.storageRoot || (file ? dirname(file.path) : '');
    // Imported on demand: loading the engine takes time.
    const { start } = await import('../../start.ts');
    await using server = await start({ ...settings, storageRoot });
    await using client = await connect(server.url);
    for (const { path } of found) await warmGraph(client, path, model);
    process.stdout.write(`${await describeFolder(join(settings.cache, 'prompts'))}\n`);
  });

/** Warms one graph. Where that fails, the others are warmed nevertheless. */
async function warmGraph(client: Client, path: string, defaultModelName: string): Promise<void> {
  try {
    const { text, syntaxError } = await readJsonFile(path);
    if (syntaxError !== undefined) throw new Error(syntaxError);
    await using agent = await client.createAgent({ graph: text, defaultModelName, warmUp: true });
    for (const warning of agent.warnings) process.stderr.write(`${path}: warning: ${warning}\n`);
    process.stdout.write(`${path}: ok\n`);
  } catch (error) {
    process.exitCode = 1;
    process.stderr.write(`${path}: ${describeError(error)}\n`);
  }
}

async function describeFolder(folder: string): Promise<string> {
  const names = await readdir(folder).catch(() => []);
  const states = names.filter((name) => name.endsWith('.state'));
  const sizes = await Promise.all(states.map(async (name) => (await stat(join(folder, name))).size));
  const megabytes = sizes.reduce((sum, size) => sum + size, 0) / 1e6;
  return `${folder}: ${states.length} prompt${states.length === 1 ? '' : 's'}, ${megabytes.toFixed(1)} MB`;
}
