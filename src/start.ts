import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { raceAbort } from './abort.ts';
import { limitsOf, type ServerOptions } from './config.ts';
import type { Engine } from './engine/engine.ts';
import { llamaEngine } from './engine/llama/engine.ts';
import { mockEngine, readMockScript } from './engine/mock/engine.ts';
import { assertFolder, findWriteProblem } from './filesystem.ts';
import { GraphFolder } from './graph/graphFolder.ts';
import { loadExtension } from './extensions.ts';
import { Downloads, type DownloadOptions } from './download/downloads.ts';
import { createLog, type Log } from './log.ts';
import { readCatalogue, type CatalogueEntry } from './models/catalogue/catalogue.ts';
import { Metrics } from './metrics/metrics.ts';
import { createMeteredPool, type MeteredPoolOptions } from './models/pool/poolMetrics.ts';
import type { ModelPool } from './models/pool/pool.ts';
import { registryWith, type Extension } from './nodes/index.ts';
import { listen, type TurngraphServer, type ListenSettings } from './server/server.ts';
import type { ServerContext } from './session/session.ts';

/** What can be set beside the options for operators. */
export interface StartSettings extends Omit<ListenSettings, 'closing'> {
  /** Node types and formats of one's own, instead of those that the option `extend` names. */
  readonly extension?: Extension;
  /** How models are fetched: another hub than the environment's, for example. */
  readonly downloads?: DownloadOptions;
  /** Where events go; default: a log as the options have it. */
  readonly log?: Log;
  /** Ends the start while it goes on: what there is is taken down. Afterwards whoever has the server disposes of it. */
  readonly stop?: AbortSignal;
}

/** Builds a server of its parts and starts it. @throws the reason of `stop`, when that comes first */
export async function start(
  options: ServerOptions,
  { extension, downloads: fetching, log = logFor(options), stop, ...settings }: StartSettings = {},
): Promise<TurngraphServer> {
  for (const [flag, folder] of [
    ['--graphs', options.graphs],
    ['--storage-root', options.storageRoot],
  ] as const) {
    if (folder !== '' && !existsSync(folder)) throw new Error(`${flag} ${folder}: there is no such folder`);
    if (folder !== '') await assertFolder(flag, folder);
  }
  await assertFolder('--models', options.models);
  const why = await findWriteProblem(options.cache);
  if (why !== undefined) log.warn({ cache: options.cache, why }, cacheUnwritableMessage);
  const catalogue = await readCatalogue(options.catalogue);
  for (const problem of catalogue.problems) log.warn({ problem }, 'the catalogue has an entry that cannot be used');
  const metrics = new Metrics();
  const downloads = new Downloads(options.models, fetching);
  const fileOf = (entry: CatalogueEntry): Promise<string | undefined> => downloads.fileOf(entry);
  const poolOf = (engine: Engine): ModelPool =>
    createMeteredPool(
      engine,
      { ...options, catalogue, idleMs: options.modelIdle * 1000, onLoaded: logLoadedModel(log), findFile: fileOf },
      metrics,
    );
  const closing = new AbortController();
  const house: ServerContext = {
    registry: registryWith(extension ?? (await raceAbort(loadExtension(options.extend), stop))),
    pools: {
      'llama-cpp': poolOf(llamaEngine({ folder: options.cache, limit: options.cacheLimit * bytesPerMegabyte })),
      mock: poolOf(await createMockEngine(options.mockScript)),
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
    await raceAbort(pinned, stop);
    return listening;
  } catch (error) {
    await listening[Symbol.asyncDispose]();
    throw error;
  }
}

const bytesPerMegabyte = 1_000_000;
const cacheUnwritableMessage = 'no states and measurements can be saved; name another folder with --cache';

const logFor = ({ logLevel: level, json }: ServerOptions): Log => createLog({ level, json });

/** Says what a model runs on, as an operator wants to know it. */
const logLoadedModel =
  (log: Log): MeteredPoolOptions['onLoaded'] =>
  (model, { backend, gpuLayers, threads, slots }, ms) =>
    log.info({ model, backend, gpuLayers, threads, slots, ms: Math.round(ms) }, 'a model is loaded');

async function createMockEngine(scriptFile: string): Promise<Engine> {
  if (scriptFile === '') return mockEngine();
  return mockEngine({ script: readMockScript(await readFile(scriptFile, 'utf8'), scriptFile) });
}
