import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Command } from 'commander';
import { connect, type Client } from '../../client/index.ts';
import { maxTimeoutMs } from '../../client/options.ts';
import type { Engine, KeptState, WarmUpResult } from '../../inference/contract/engine.ts';
import { describeError } from '../../protocol/fault.ts';
import { tryFindGraph, readValidJson } from '../findGraph.ts';
import { assertModelName } from '../catalogue.ts';
import { startOwnServer, watchSequences } from '../ownServer.ts';
import { engineOptions, ownServerOptions, serverFlags, type ServerFlags } from '../options.ts';
import { plural, printLine, vectorProgress } from '../output/terminalText.ts';
import type { VectorReport } from '../../graph/retrieval/vectors/storageVectors.ts';
import { withMembers } from '../../base/withMembers.ts';
import { formatMegabytes } from '../../base/units.ts';

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
    const states = await readFolder(join(settings.cache, 'prompts'));
    const { folder, prompts, bytes } = states;
    if (json) printLine(JSON.stringify({ graphs: warmed, ...states }));
    else printLine(`${folder}: ${plural(prompts, 'prompt')}, ${formatMegabytes(bytes)}`);
  });

/** What `turngraph warm` has done with a graph. */
interface WarmedGraph {
  readonly graph: string;
  /** Empty: there was none. */
  readonly error: string;
  readonly warnings: readonly string[];
  /** Those with a model. */
  readonly nodes: readonly NodePrefill[];
  /** Of the storages that nodes search by vectors. */
  readonly vectors: readonly VectorReport[];
}

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

const descriptions: Readonly<Record<KeptState, string>> = {
  saved: 'saved',
  present: 'was saved before',
  few_tokens: 'not saved: so few are evaluated faster than a file is read',
  too_large: 'not saved: they do not fit in the context; shorten the system prompt, or raise context_size',
  not_asked: 'not saved: not only the head of a prompt',
  no_cache:
    'not saved: there is no prompt cache; --cache names a folder that can be written, --cache-limit must not be 0',
  failed: 'not saved: the disk is full, or --cache-limit has no room for it',
  stopped: 'not saved: the evaluation was aborted',
};

const goodStates: readonly KeptState[] = ['saved', 'present', 'few_tokens'];

/** Whether all of a graph is in the prompt cache that should be. */
const isWarm = ({ error, nodes, vectors }: WarmedGraph): boolean =>
  error === '' &&
  nodes.every(({ kept }) => goodStates.includes(kept)) &&
  vectors.every(({ unsaved }) => unsaved === undefined);

function printGraph({ graph, error, warnings, nodes, vectors }: WarmedGraph): void {
  const problems = [...warnings.map((warning) => `warning: ${warning}`), ...(error === '' ? [] : [error])];
  // The error of a graph that was not found names it.
  for (const line of problems) process.stderr.write(`${line.startsWith(graph) ? '' : `${graph}: `}${line}\n`);
  if (error === '') printLine(`${graph}: ok`);
  for (const { node, tokens, kept } of nodes) printLine(`  ${node}: ${plural(tokens, 'token')}, ${descriptions[kept]}`);
  for (const report of vectors)
    printLine(`  ${report.name}: ${plural(report.texts, 'vector')}, ${describeVectors(report)}`);
}

function describeVectors({ isRestored, unsaved }: VectorReport): string {
  if (unsaved !== undefined) return `not saved: ${unsaved}`;
  return isRestored ? 'were saved before' : 'saved';
}

/** Counts the states in the folder of the prompt cache. */
async function readFolder(folder: string) {
  const states = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.state'));
  const sizes = await Promise.all(states.map(async (name) => (await stat(join(folder, name))).size));
  return { folder, prompts: states.length, bytes: sizes.reduce((sum, size) => sum + size, 0) };
}

interface NodePrefill extends WarmUpResult {
  readonly node: string;
}

/** Lets a listener know of each prefill of the models that an engine loads from now on. */
const watchPrefills = (engine: Engine, onPrefill: (prefill: NodePrefill) => void): Engine =>
  watchSequences(engine, (sequence) =>
    withMembers(sequence, {
      async prefill(...options) {
        const result = await sequence.prefill(...options);
        onPrefill({ node: sequence.label, ...result });
        return result;
      },
    }),
  );
