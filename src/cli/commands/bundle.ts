import { Command, Option } from 'commander';
import { planBundle, type PlannedBundle } from '../bundle/planBundle.ts';
import { nodeFileOf, runtimeFolder, startFileOf } from '../bundle/startFiles.ts';
import { formatBytes } from '../../base/units.ts';
import { findEntries, findModels } from '../bundle/bundledModels.ts';
import {
  type BundleGpu,
  bundleGpus,
  type BundlePlatform,
  bundlePlatforms,
  isWindows,
  platformOf,
} from '../bundle/platforms.ts';
import { storageModels } from '../bundle/bundledGraphs.ts';
import { assertEmpty, writeBundle } from '../bundle/writeBundle.ts';
import { loadExtension, registryWith } from '../../graph/nodes/index.ts';
import { GraphFolder } from '../../graph/compile/graphFolder.ts';
import { referencesOf } from '../../graph/compile/document.ts';
import { type CheckedGraph, checkedGraphs } from '../checkedGraphs.ts';
import { untilInterrupted } from '../interrupt.ts';
import { openCatalogue } from '../catalogue.ts';
import { serverFlags, UsageError } from '../options.ts';

interface BundleFlags {
  readonly platform?: BundlePlatform;
  readonly gpu: BundleGpu;
  readonly node?: string;
  readonly nodeLicense?: string;
  readonly libraries?: string;
  readonly model?: readonly string[];
  readonly entry?: readonly string[];
  readonly graph?: readonly string[];
  readonly [serverFlag: string]: unknown;
}

/** `turngraph bundle`: a folder with Node, the program, graphs and models, to ship with a game. */
export const bundleCommand = (): Command =>
  serverFlags(
    new Command('bundle')
      .description('make a folder that runs without npm, to ship with a game')
      .argument('<folder>', 'a folder that is not there yet, or is empty')
      .addOption(new Option('--platform <name>', 'system of the players (default: this one)').choices(bundlePlatforms))
      .option('--node <file>', 'Node program of that system (default: the one that runs this)')
      .option(
        '--node-license <file>',
        'LICENSE of its archive (default: the one next to it, or that of its major version)',
      )
      .addOption(new Option('--gpu <name>', 'backend in addition to the CPU').choices(bundleGpus).default('off'))
      .option(
        '--libraries <folder>',
        'where npm installed the llama.cpp library (default: where the other packages are)',
      )
      .option('--graph <file...>', 'graph files or names (default: all of the graphs folder)')
      .option('--model <name...>', 'models in addition to those that the graphs name')
      .option('--entry <name...>', 'models that the game downloads: their entry only'),
    ['graphs', 'catalogue', 'models', 'extend', 'storageRoot', 'json'],
  ).action((folder: string, flags: BundleFlags) =>
    untilInterrupted(`stopped; nothing is left of ${folder}`, (signal) => bundle(folder, flags, signal)),
  );

async function bundle(folder: string, flags: BundleFlags, signal: AbortSignal): Promise<void> {
  const { platform = platformOf(process), node = process.execPath, entry: entries = [] } = flags;
  if (platform === undefined) throw new UsageError('no bundle can be made for this system; give --platform and --node');
  if (platform !== platformOf(process) && flags.node === undefined)
    throw new UsageError(
      `--platform ${platform} needs --node, the Node program of that system: nodejs.org/dist has its archive`,
    );
  await assertEmpty(folder);
  const { catalogue, downloads, options } = await openCatalogue(flags);
  const registry = registryWith(await loadExtension(options.extend));
  const names = flags.graph ?? (await new GraphFolder(options.graphs).names()).toSorted();
  const graphs: CheckedGraph[] = [];
  for await (const graph of checkedGraphs(names, options, { registry, catalogue })) graphs.push(report(graph));
  const named = graphs.flatMap(({ document }) => referencesOf(document).models);
  const models = new Set(
    [...named, ...(await storageModels(graphs)), ...(flags.model ?? [])].filter((name) => !entries.includes(name)),
  );
  const found = await findModels([...models].toSorted(), { catalogue, downloads });
  const { gpu, nodeLicense = '', libraries = '' } = flags;
  const content = { platform, node, gpu, nodeLicense, libraries, graphs };
  const planned = await planBundle({ ...content, models: [...found, ...findEntries(entries, catalogue)] });
  const files = planned.parts.flatMap((part) => part.files);
  await writeBundle(folder, files, signal);
  if (process.platform === 'win32' && !isWindows(platform)) process.stderr.write(noExecutableBits(platform));
  process.stdout.write(options.json ? bundleToJson(folder, planned) : describeBundle(folder, planned));
}

// The file systems of Windows have none.
const noExecutableBits = (platform: BundlePlatform): string =>
  `Windows keeps no executable bits: run chmod +x ${startFileOf(platform)} ${runtimeFolder}/${nodeFileOf(platform)} there\n`;

/** Prints the warnings of a graph. @throws Error with its faults: a bundle with a graph that cannot run is of no use. */
function report(graph: CheckedGraph): CheckedGraph {
  if (graph.messages.length > 0) throw new Error(graph.messages.join('\n'));
  for (const warning of graph.warnings) process.stderr.write(`${graph.path}: warning: ${warning}\n`);
  return graph;
}

/** What is in a bundle, and how large each part is, for a terminal. */
export function describeBundle(folder: string, { platform, parts }: PlannedBundle): string {
  const sizes = parts.map(({ bytes }) => formatBytes(bytes));
  const width = Math.max(...sizes.map((size) => size.length));
  const rows = parts.map(({ title }, index) => `  ${sizes[index]?.padStart(width)}  ${title}`);
  const start = `start it with ${folder}/${startFileOf(platform)}`;
  return [`${folder} for ${platform}: ${formatBytes(totalOf(parts))}; ${start}`, ...rows, ''].join('\n');
}

/** The same for programs, as one JSON document. */
export function bundleToJson(folder: string, { platform, parts }: PlannedBundle): string {
  const list = parts.map(({ kind, title, bytes, files }) => ({ part: kind, title, bytes, files: files.length }));
  return `${JSON.stringify({ folder, platform, start: startFileOf(platform), bytes: totalOf(parts), parts: list })}\n`;
}

const totalOf = (parts: PlannedBundle['parts']): number => parts.reduce((sum, { bytes }) => sum + bytes, 0);
