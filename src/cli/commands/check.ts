import { dirname } from 'node:path';
import { Command } from 'commander';
import { checkGraph, type GraphCheckResult } from '../../agent/checkGraph.ts';
import { loadExtension } from '../../extensions.ts';
import { Fault } from '../../fault.ts';
import { readCatalogue } from '../../models/catalogue/readCatalogue.ts';
import { registryWith } from '../../nodes/index.ts';
import { findGraph } from '../findGraph.ts';
import { readJsonFile, type JsonFile } from '../jsonFile.ts';
import { serverFlags, serverOptions } from '../options.ts';

/** `turngraph check`: validates graph files. */
export const checkCommand = (): Command =>
  serverFlags(
    new Command('check')
      .description('validate graphs as the server would')
      .argument('<graph...>', 'graph files, or names in the graphs folder'),
    ['graphs', 'catalogue', 'storageRoot', 'extend', 'json'],
  ).action(async (graphs: string[], flags: Record<string, unknown>) => {
    const options = serverOptions(flags);
    const registry = registryWith(await loadExtension(options.extend));
    const catalogue = await readCatalogue(options.catalogue);
    for (const graph of graphs) {
      const { path, error } = await locate(graph, options.graphs);
      if (error) {
        // The other graphs are checked nevertheless.
        process.exitCode = 1;
        if (options.json) process.stdout.write(`${JSON.stringify({ file: path, ...faultVerdict(error.message) })}\n`);
        else process.stderr.write(`${error.message}\n`);
        continue;
      }
      const file = await readJsonFile(path);
      if (file.isSchema) {
        process.stderr.write(`${path}: skipped, it is a JSON Schema\n`);
        continue;
      }
      const context = { registry, catalogue, storageRoot: options.storageRoot || dirname(path) };
      const verdict = file.syntaxError
        ? faultVerdict(file.syntaxError)
        : await checkGraph(JSON.parse(file.text), context);
      if (verdict.faults.length > 0) process.exitCode = 1;
      if (options.json) process.stdout.write(`${JSON.stringify({ file: path, ...verdict })}\n`);
      else print(file, verdict);
    }
  });

/** The path of a graph, or why there is none. */
async function locate(graph: string, graphs: string): Promise<{ readonly path: string; readonly error?: Fault }> {
  try {
    return await findGraph(graph, graphs);
  } catch (error) {
    if (error instanceof Fault) return { path: graph, error };
    throw error;
  }
}

const faultVerdict = (message: string): GraphCheckResult => ({
  faults: [{ code: 'GRAPH_COMPILATION_FAILED', pointer: '', message }],
  warnings: [],
});

function print(file: JsonFile, { faults, warnings }: GraphCheckResult): void {
  if (faults.length === 0) process.stdout.write(`${file.path}: ok\n`);
  for (const { message, pointer } of faults) {
    process.stderr.write(file.syntaxError === undefined ? `${file.positionOf(pointer)}: ${message}\n` : `${message}\n`);
  }
  for (const warning of warnings) process.stderr.write(`${file.path}: warning: ${warning}\n`);
}
