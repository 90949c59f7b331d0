import { Command } from 'commander';
import { loadExtension } from '../../server/extensions.ts';
import { graphSchema, describeGraphPointer } from '../../graph/compile/document.ts';
import { toMermaid } from '../../graph/compile/mermaid.ts';
import { registryWith } from '../../graph/nodes/index.ts';
import { createReader } from '../../protocol/schema.ts';
import { findGraph } from '../findGraph.ts';
import { readJsonFile } from '../jsonFile.ts';
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
    const file = await readJsonFile((await findGraph(graph, options.graphs)).path);
    if (file.syntaxError !== undefined) throw new Error(file.syntaxError);
    const reading = createReader(graphSchema)(JSON.parse(file.text));
    if (reading.ok) return void process.stdout.write(toMermaid(reading.value, registry));
    throw new Error(
      reading.errors
        .map(({ pointer, message }) => `${file.positionOf(pointer)}: ${describeGraphPointer(pointer)} ${message}`)
        .join('\n'),
    );
  });
