import { Command } from 'commander';
import { loadExtension, registryWith } from '../../graph/nodes/index.ts';
import { toMermaid } from '../../graph/compile/mermaid.ts';
import { findGraph, readGraph } from '../findGraph.ts';
import { serverFlags, serverOptions } from '../options.ts';

/** `turngraph draw`: prints a graph as a Mermaid flowchart. */
export const drawCommand = (): Command =>
  serverFlags(
    new Command('draw')
      .description('print a graph as a Mermaid flowchart')
      .argument('<graph>', 'a graph file, or a name in the graphs folder'),
    ['graphs', 'extend'],
  ).action(async (graph: string, flags: Record<string, unknown>) => {
    const options = serverOptions(flags);
    const registry = registryWith(await loadExtension(options.extend));
    const { path } = await findGraph(graph, options.graphs);
    process.stdout.write(toMermaid(await readGraph(path), registry));
  });
