import { Command } from 'commander';
import { graphSchema, placeInGraph } from '../graph/document.ts';
import { drawing } from '../graph/drawing.ts';
import { registryOf } from '../graph/registry.ts';
import { nodeTypes } from '../nodes/index.ts';
import { reader } from '../schema.ts';
import { readGraphFile } from './graphFile.ts';

/** `turngraph draw` */
export const drawCommand = (): Command =>
  new Command('draw')
    .description('print a graph file as a Mermaid flowchart')
    .argument('<file>')
    .action(async (path: string) => {
      const file = await readGraphFile(path);
      if (file.syntax !== undefined) throw new Error(file.syntax);
      const reading = reader(graphSchema)(JSON.parse(file.text));
      if (reading.ok) return void process.stdout.write(drawing(reading.value, registryOf(nodeTypes)));
      throw new Error(
        reading.refusals
          .map(({ pointer, message }) => `${file.at(pointer)}: ${placeInGraph(pointer)} ${message}`)
          .join('\n'),
      );
    });
