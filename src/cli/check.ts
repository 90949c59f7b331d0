import { dirname } from 'node:path';
import { Command } from 'commander';
import { Agent } from '../agent/agent.ts';
import { mockEngine } from '../engine/mock.ts';
import { Fault } from '../fault.ts';
import type { GraphFault } from '../graph/faults.ts';
import { registryOf } from '../graph/registry.ts';
import { readCatalogue } from '../models/catalogue.ts';
import { ModelPool } from '../models/pool.ts';
import { nodeTypes } from '../nodes/index.ts';
import { StorageRoot } from '../storage/root.ts';
import { Shelf } from '../storage/shelf.ts';
import { readGraphFile, type GraphFile } from './graphFile.ts';
import { serverFlags, serverOptions } from './options.ts';

/** `turngraph check` */
export const checkCommand = (): Command =>
  serverFlags(
    new Command('check').description('say what is wrong with graph files, as the server would').argument('<file...>'),
    ['catalogue', 'storageRoot', 'json'],
  ).action(async (files: string[], flags: Record<string, unknown>) => {
    const { catalogue, storageRoot, json } = serverOptions(flags);
    await using pool = new ModelPool(mockEngine(), { ...idle, catalogue: await readCatalogue(catalogue) });
    for (const path of files) {
      const file = await readGraphFile(path);
      const verdict = await check(file, pool, new Shelf(new StorageRoot(storageRoot || dirname(path)), Infinity));
      if (verdict.faults.length > 0) process.exitCode = 1;
      if (json) process.stdout.write(`${JSON.stringify({ file: path, ...verdict })}\n`);
      else print(file, verdict);
    }
  });

interface Finding {
  readonly message: string;
  /** JSON pointer; absent where the finding is about the file as a whole. */
  readonly pointer?: string;
  readonly code?: string;
}

interface Verdict {
  readonly faults: readonly Finding[];
  readonly warnings: readonly string[];
}

// The graph is made as the server makes it, on an engine that needs no weights.
async function check(file: GraphFile, pool: ModelPool, shelf: Shelf): Promise<Verdict> {
  if (file.syntax !== undefined) return { faults: [{ message: file.syntax }], warnings: [] };
  try {
    await using agent = await Agent.create({ ...forChecking, graph: JSON.parse(file.text) as unknown, pool, shelf });
    return { faults: [], warnings: agent.warnings };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    if (error.detail === '') return { faults: [{ code: error.name, message: error.message }], warnings: [] };
    return { faults: JSON.parse(error.detail) as readonly GraphFault[], warnings: [] };
  }
}

function print(file: GraphFile, { faults, warnings }: Verdict): void {
  if (faults.length === 0) process.stdout.write(`${file.path}: ok\n`);
  for (const { message, pointer } of faults) {
    process.stderr.write(file.syntax === undefined ? `${file.at(pointer ?? '')}: ${message}\n` : `${message}\n`);
  }
  for (const warning of warnings) process.stderr.write(`${file.path}: warning: ${warning}\n`);
}

const idle = { idleMs: 0, seats: 1, threads: 1, gpu: 'off' } as const;

const forChecking = {
  id: 1,
  registry: registryOf(nodeTypes),
  defaultModelName: '',
  diagnostics: false,
  maxSteps: 0,
  history: [],
  limits: { nodes: 256, tools: 128 },
  turnTimeoutMs: 0,
};
