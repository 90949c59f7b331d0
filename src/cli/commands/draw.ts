import { Command } from 'commander';
import { loadExtension } from '../../extensions.ts';
import { graphSchema, placeInGraph } from '../../graph/document.ts';
import { drawing } from '../../graph/mermaid.ts';
import { registryWith } from '../../nodes/index.ts';
import { reader } from '../../schema.ts';
import { readGraphFile } from '../graphFile.ts';
import { serverFlags, serverOptions } from '../options.ts';

/** `turngraph draw` */
export const drawCommand = (): Command =>
  serverFlags(new Command('draw').description('print a graph file as a Mermaid flowchart').argument('<file>'), [
    'extend',
  ]).action(async (path: string, flags: Record<string, unknown>) => {
    const registry = registryWith(await loadExtension(serverOptions(flags).extend));
    const file = await readGraphFile(path);
    if (file.syntax !== undefined) throw new Error(file.syntax);
    const reading = reader(graphSchema)(JSON.parse(file.text));
    if (reading.ok) return void process.stdout.write(drawing(reading.value, registry));
    throw new Error(
      reading.refusals
        .map(({ pointer, message }) => `${file.at(pointer)}: ${placeInGraph(pointer)} ${message}`)
        .join('\n'),
    );
  });
