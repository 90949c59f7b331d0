import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { connect, type Client } from '../../client/index.ts';
import { maxTimeoutMs } from '../../client/options.ts';
import type { Engine } from '../../inference/contract/engine.ts';
import { describeError } from '../../protocol/fault.ts';
import { tryFindGraph, readValidJson } from '../findGraph.ts';
import { assertModelName } from '../catalogue.ts';
import { startOwnServer } from '../ownServer.ts';
import { engineOptions, ownServerOptions, serverFlags, type ServerFlags } from '../options.ts';
import type { WarmedGraph, NodePrefill } from '../output/warmReport.ts';
import {
  describeFolder,
  describeGraph,
  isWarm,
  readFolder,
  vectorProgress,
  watchPrefills,
} from '../output/warmReport.ts';
import type { VectorReport } from '../../graph/retrieval/vectors/storageVectors.ts';

type WarmFlags = ServerFlags & { readonly model?: string; readonly json?: boolean };

export const warmCommand = (): Command =>
  serverFlags(
    new Command('warm')
      .description(
        'evaluate system prompts and tools of graphs, and texts that they search by vectors, and keep them in the cache folder for later servers',
      )
      .argument('<graph...>', 'graph files, or names in the graphs folder')
      .option('--model <name>', 'model of the nodes that name none: a name in the catalogue')
      .option('--json', 'one JSON document instead of lines'),
    ['graphs', 'catalogue', 'models', 'cache', 'cacheLimit', 'extend', 'storageRoot', 'slots', ...engineOptions],
  ).action(async (graphs: string[], { model = '', json = false, ...flags }: WarmFlags) => {
    assertModelName(model);
    const settings = ownServerOptions(flags);
    const found = await Promise.all(graphs.map((graph) => tryFindGraph(graph, settings.graphs)));
    const file = found.find(({ isName }) => isName === false);
    // As in `check`: the storage files of a graph file are in its folder.
    const storageRoot = settings.storageRoot || (file ? dirname(file.path) : '');
    const options = { ...settings, storageRoot };
    const prefills: NodePrefill[] = [];
    const vectors: VectorReport[] = [];
    const watchEngine = (engine: Engine): Engine => watchPrefills(engine, (prefill) => prefills.push(prefill));
    const onReady = (report: VectorReport): void => void vectors.push(report);
    const vectorListener = { onReady, onProgress: vectorProgress() };
    await using server = await startOwnServer(options, { watchEngine, vectorListener });
    await using client = await connect(server.url, { limits: { idleTimeoutMs: maxTimeoutMs } });
    const warmed: WarmedGraph[] = [];
    for (const { path, error } of found) {
      const graph = error === undefined ? await warmGraph(client, path, model) : { graph: path, error, warnings: [] };
      const report = { ...graph, nodes: prefills.splice(0), vectors: vectors.splice(0) };
      warmed.push(report);
      if (!isWarm(report)) process.exitCode = 1;
      if (!json) printGraph(report);
    }
    const folder = await readFolder(join(settings.cache, 'prompts'));
    process.stdout.write(json ? `${JSON.stringify({ graphs: warmed, ...folder })}\n` : describeFolder(folder));
  });

/** Warms one graph. Where that fails, the others are warmed nevertheless. */
async function warmGraph(client: Client, path: string, model: string): Promise<Omit<WarmedGraph, 'nodes' | 'vectors'>> {
  try {
    const { text } = await readValidJson(path);
    await using agent = await client.createAgent({ graph: text, defaultModelName: model, warmUp: true });
    return { graph: path, error: '', warnings: agent.warnings };
  } catch (error) {
    return { graph: path, error: describeError(error), warnings: [] };
  }
}

function printGraph(report: WarmedGraph): void {
  const { out, err } = describeGraph(report);
  process.stderr.write(err);
  process.stdout.write(out);
}
