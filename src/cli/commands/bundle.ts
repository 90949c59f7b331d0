import { Command, Option } from 'commander';
import { planBundle } from '../bundle/planBundle.ts';
import type { BundleGpu, BundlePlatform } from '../bundle/platforms.ts';
import {
  nodeFileOf,
  runtimeFolder,
  startFileOf,
  bundleGpus,
  bundlePlatforms,
  isWindows,
  platformOf,
} from '../bundle/platforms.ts';
import { formatBytes } from '../../base/units.ts';
import { findEntries, findModels, storageModels } from '../bundle/bundledModels.ts';
import { loadExtension, registryWith } from '../../graph/nodes/index.ts';
import { GraphFolder } from '../../graph/compile/graphFolder.ts';
import { referencesOf } from '../../graph/compile/document.ts';
import { type CheckedGraph, checkedGraphs } from '../checkedGraphs.ts';
import { untilInterrupted } from '../interrupt.ts';
import { openCatalogue } from '../catalogue.ts';
import { serverFlags, UsageError, type ServerFlags } from '../options.ts';
import {
  chmod,
  copyFile,
  mkdir,
  mkdtemp,
  readdir,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join, posix, resolve } from 'node:path';
import { createReadStream, createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { describeFsError, makeFolder } from '../../base/filesystem.ts';
import { isProcessAlive } from '../../base/ownership.ts';
import type { BundleFile, BundlePart } from '../bundle/bundlePart.ts';

interface BundleFlags extends ServerFlags {
  readonly platform?: BundlePlatform;
  readonly gpu: BundleGpu;
  readonly node?: string;
  readonly nodeLicense?: string;
  readonly libraries?: string;
  readonly model?: readonly string[];
  readonly entry?: readonly string[];
  readonly graph?: readonly string[];
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
  const found = await findModels([...models].toSorted(), catalogue, downloads);
  const { gpu, nodeLicense = '', libraries = '' } = flags;
  const content = { platform, node, gpu, nodeLicense, libraries, graphs };
  const parts = await planBundle({ ...content, models: [...found, ...findEntries(entries, catalogue)] });
  const files = parts.flatMap((part) => part.files);
  await writeBundle(folder, files, signal);
  if (process.platform === 'win32' && !isWindows(platform)) process.stderr.write(noExecutableBits(platform));
  const describe = options.json ? bundleToJson : describeBundle;
  process.stdout.write(describe(folder, platform, parts));
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
export function describeBundle(folder: string, platform: BundlePlatform, parts: readonly BundlePart[]): string {
  const sizes = parts.map(({ bytes }) => formatBytes(bytes));
  const width = Math.max(...sizes.map((size) => size.length));
  const rows = parts.map(({ title }, index) => `  ${sizes[index]?.padStart(width)}  ${title}`);
  const start = `start it with ${folder}/${startFileOf(platform)}`;
  return [`${folder} for ${platform}: ${formatBytes(totalOf(parts))}; ${start}`, ...rows, ''].join('\n');
}

/** The same for programs, as one JSON document. */
export function bundleToJson(folder: string, platform: BundlePlatform, parts: readonly BundlePart[]): string {
  const list = parts.map(({ kind, title, bytes, files }) => ({ part: kind, title, bytes, files: files.length }));
  return `${JSON.stringify({ folder, platform, start: startFileOf(platform), bytes: totalOf(parts), parts: list })}\n`;
}

const totalOf = (parts: readonly BundlePart[]): number => parts.reduce((sum, { bytes }) => sum + bytes, 0);

/**
 * Writes files into a new folder, all or none: they are written to a folder next to it, which is renamed at the end.
 * @throws Error that names the folder, when it is not empty or cannot be written; the reason of the signal.
 */
export async function writeBundle(path: string, files: readonly BundleFile[], signal: AbortSignal): Promise<void> {
  // A symbolic link to a folder is kept: that folder is written.
  const folder = await realpath(path).catch(() => resolve(path));
  await assertEmpty(path, folder);
  let draft: string | undefined;
  try {
    await makeFolder(dirname(folder));
    await removeOldDrafts(folder);
    draft = await mkdtemp(`${folder}.new-${process.pid}-`);
    for (const path of foldersOf(files)) {
      await mkdir(join(draft, path));
      await chmod(join(draft, path), folderMode);
    }
    for (const file of files) {
      signal.throwIfAborted();
      await writeFileTo(draft, file, signal);
    }
    await chmod(draft, folderMode);
    await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
    await rename(draft, folder);
  } catch (error) {
    if (draft !== undefined) await rm(draft, { recursive: true, force: true });
    signal.throwIfAborted();
    const { path: place } = Object(error) as { readonly path?: string };
    throw new Error(`${path} cannot be written: ${describeFsError(error)}${place ? ` at ${place}` : ''}`, {
      cause: error,
    });
  }
}

/** Checks that a bundle can be written to a folder. @throws Error that names the fix. */
async function assertEmpty(path: string, folder = resolve(path)): Promise<void> {
  const entries = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new Error(`${path} cannot be a bundle: ${describeFsError(error)}`, { cause: error });
  });
  if (entries.length > 0) throw new Error(`${path} is not empty: delete it, or name a folder that is not there yet`);
}

// The same on every machine, whatever the source and the umask have.
const folderMode = 0o755;
const fileMode = 0o644;
const executableMode = 0o755;

/** The folders of files, each after its parent. */
function foldersOf(files: readonly BundleFile[]): readonly string[] {
  const folders = new Set<string>();
  for (const { path } of files)
    for (let folder = posix.dirname(path); folder !== '.'; folder = posix.dirname(folder)) folders.add(folder);
  return [...folders].toSorted();
}

// A larger file is copied in pieces: Ctrl-C does not wait for all of it.
const maxWholeCopyBytes = 2 ** 26;

async function writeFileTo(
  draft: string,
  { path, content, isExecutable = false }: BundleFile,
  signal: AbortSignal,
): Promise<void> {
  const target = join(draft, ...path.split('/'));
  if ('text' in content) await writeFile(target, content.text);
  else if ((await stat(content.copyOf)).size <= maxWholeCopyBytes) await copyFile(content.copyOf, target);
  else await pipeline(createReadStream(content.copyOf), createWriteStream(target), { signal });
  await chmod(target, isExecutable ? executableMode : fileMode);
}

/** Removes drafts of dead processes next to it: their names have a process id. @throws the system's error. */
async function removeOldDrafts(folder: string): Promise<void> {
  const prefix = `${basename(folder)}.new-`;
  const parent = dirname(folder);
  for (const entry of await readdir(parent, { withFileTypes: true })) {
    if (!entry.isDirectory() || !entry.name.startsWith(prefix)) continue;
    const [, id] = /^([1-9]\d*)-[A-Za-z0-9]{6}$/.exec(entry.name.slice(prefix.length)) ?? [];
    // A draft with the id of this process is of an earlier one: in a container each has the same.
    if (id !== undefined && (Number(id) === process.pid || !isProcessAlive(Number(id))))
      await rm(join(parent, entry.name), { recursive: true, force: true });
  }
}
