import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Command } from 'commander';
import { Agent } from '../agent/agent.ts';
import { mockEngine } from '../engine/mock.ts';
import { Fault } from '../fault.ts';
import { parseGraph } from '../graph/folder.ts';
import { registryOf } from '../graph/registry.ts';
import { readCatalogue } from '../models/catalogue.ts';
import { ModelPool } from '../models/pool.ts';
import { nodeTypes } from '../nodes/index.ts';
import { StorageRoot } from '../storage/root.ts';
import { Shelf } from '../storage/shelf.ts';
import { serverFlags, serverOptions } from './options.ts';

/** `turngraph check` */
export const checkCommand = (): Command =>
  serverFlags(
    new Command('check').description('say what is wrong with graph files, as the server would').argument('<file...>'),
    ['catalogue'],
  ).action(async (files: string[], flags: Record<string, unknown>) => {
    const catalogue = await readCatalogue(serverOptions(flags).catalogue);
    await using pool = new ModelPool(mockEngine(), { catalogue, idleMs: 0, seats: 1, threads: 1, gpu: 'off' });
    for (const file of files) {
      if (!(await check(file, pool))) process.exitCode = 1;
    }
  });

// The graph is made as the server makes it, on an engine that needs no weights.
async function check(file: string, pool: ModelPool): Promise<boolean> {
  try {
    const graph = parseGraph(await readFile(file, 'utf8'), file);
    const shelf = new Shelf(new StorageRoot(dirname(file)), Infinity);
    await using agent = await Agent.create({ ...forChecking, graph, pool, shelf });
    process.stdout.write(`${file}: ok\n`);
    for (const warning of agent.warnings) process.stderr.write(`${file}: warning: ${warning}\n`);
    return true;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const faults = error.detail === '' ? [error] : (JSON.parse(error.detail) as readonly { message: string }[]);
    for (const { message } of faults) process.stderr.write(`${file}: ${message}\n`);
    return false;
  }
}

const forChecking = {
  id: 1,
  registry: registryOf(nodeTypes),
  defaultModelName: '',
  diagnostics: false,
  maxSteps: 0,
  history: [],
};
