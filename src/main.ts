import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { limitsOf, type ServerOptions } from './config.ts';
import type { Engine } from './engine/engine.ts';
import { llamaEngine } from './engine/llama/engine.ts';
import { mockEngine, readMockScript } from './engine/mock.ts';
import { noFileAt, whyUnwritable } from './folders.ts';
import { GraphFolder } from './graph/folder.ts';
import { loadExtension } from './extend.ts';
import { Downloads, type DownloadOptions } from './download/downloads.ts';
import { createLog, type Log } from './log.ts';
import { readCatalogue, type CatalogueEntry } from './models/catalogue.ts';
import { Metrics } from './metrics/metrics.ts';
import { meteredPool, type MeteredOptions } from './models/meters.ts';
import type { ModelPool } from './models/pool.ts';
import { registryWith, type Extension } from './nodes/index.ts';
import { listen, type Listening, type ListenSettings } from './server/server.ts';
import type { EngineName, House } from './session/session.ts';

/** What can be set beside the options for operators. */
export interface Settings extends Omit<ListenSettings, 'closing'> {
  /** Node types and formats of one's own, instead of those that the option `extend` names. */
  readonly extension?: Extension;
  /** How models are fetched: another hub than the environment's, for example. */
  readonly downloads?: DownloadOptions;
  /** What runs models under the names of the engines, instead of what usually does. */
  readonly engines?: { readonly [Name in EngineName]?: Engine };
  /** Where events go; default: a log as the options have it. */
  readonly log?: Log;
  /** Ends the start while it goes on: what there is is taken down. Afterwards whoever has the server disposes of it. */
  readonly stop?: AbortSignal;
}

/** Builds a server of its parts and starts it. @throws the reason of `stop`, when that comes first */
export async function start(
  options: ServerOptions,
  { extension, downloads: fetching, engines = {}, log = logOf(options), stop, ...settings }: Settings = {},
): Promise<Listening> {
  for (const [flag, folder] of [
    ['--graphs', options.graphs],
    ['--storage-root', options.storageRoot],
  ] as const) {
    if (folder !== '' && !existsSync(folder)) throw new Error(`${flag} ${folder}: there is no such folder`);
    if (folder !== '') await noFileAt(flag, folder);
  }
  await noFileAt('--models', options.models);
  const why = await whyUnwritable(options.cache);
  if (why !== undefined) log.warn({ cache: options.cache, why }, cacheUnwritable);
  const catalogue = await readCatalogue(options.catalogue);
  for (const problem of catalogue.problems) log.warn({ problem }, 'the catalogue has an entry that cannot be used');
  const metrics = new Metrics();
  const downloads = new Downloads(options.models, fetching);
  const fileOf = (entry: CatalogueEntry): Promise<string | undefined> => downloads.fileOf(entry);
  const poolOf = (engine: Engine): ModelPool =>
    meteredPool(
      engine,
      { ...options, catalogue, idleMs: options.modelIdle * 1000, onLoaded: reportTo(log), fileOf },
      metrics,
    );
  const closing = new AbortController();
  const house: House = {
    registry: registryWith(extension ?? (await unlessStopped(loadExtension(options.extend), stop))),
    pools: {
      'llama-cpp': poolOf(engines['llama-cpp'] ?? llama(options)),
      mock: poolOf(engines.mock ?? (await mock(options.mockScript))),
    },
    graphs: new GraphFolder(options.graphs),
    storageRoot: options.storageRoot || options.graphs,
    limits: limitsOf(options),
    turnTimeoutMs: options.turnTimeout * 1000,
    closing: closing.signal,
    log,
    metrics,
    downloads,
  };
  const listening = await listen(house, options, { ...settings, closing });
  try {
    // Who asks meanwhile is answered; /health/ready says what is still being loaded.
    const { signal } = closing;
    const pinned = Promise.all(options.preload.map((name) => house.pools['llama-cpp'].pin(name, { signal })));
    await unlessStopped(pinned, stop);
    return listening;
  } catch (error) {
    await listening[Symbol.asyncDispose]();
    throw error;
  }
}

/** Waits for a part of the start no longer than a signal lets one. @throws the signal's reason when it comes before */
function unlessStopped<T>(work: Promise<T>, stop: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = (): void => reject(stop?.reason);
    if (stop?.aborted) leave();
    stop?.addEventListener('abort', leave);
    work.then(resolve, reject).finally(() => stop?.removeEventListener('abort', leave));
  });
}

const megabyte = 1_000_000;
const cacheUnwritable = 'no states and measurements can be saved; name another folder with --cache';

const logOf = ({ logLevel: level, json }: ServerOptions): Log => createLog({ level, json });

/** Says what a model runs on, as an operator wants to know it. */
const reportTo =
  (log: Log): MeteredOptions['onLoaded'] =>
  (model, { backend, gpuLayers, threads, seats }, ms) =>
    log.info({ model, backend, gpuLayers, threads, seats, ms: Math.round(ms) }, 'a model is loaded');

const llama = ({ cache, cacheLimit }: ServerOptions): Engine =>
  llamaEngine({ folder: cache, limit: cacheLimit * megabyte });

async function mock(scriptFile: string): Promise<Engine> {
  if (scriptFile === '') return mockEngine();
  return mockEngine({ script: readMockScript(await readFile(scriptFile, 'utf8'), scriptFile) });
}
