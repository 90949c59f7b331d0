import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { raceAbort } from '../base/abort.ts';
import { type ServerOptions, limitsOf } from './config.ts';
import { bundledPath } from '../base/packageFiles.ts';
import type { Engine } from '../inference/contract/engine.ts';
import type { DiskQuota } from '../base/diskCache.ts';
import { cacheQuota, createLlamaEngine } from './llamaEngine.ts';
import { httpEngine } from '../inference/remote/engine.ts';
import { mockEngine, readMockScript } from '../inference/mock/engine.ts';
import { assertFolder, findWriteProblem } from '../base/filesystem.ts';
import { parseGpuLayers } from '../inference/gpuChoice.ts';
import { GraphFolder } from '../graph/compile/graphFolder.ts';
import { loadExtension } from './extensions.ts';
import { Downloads, type DownloadOptions } from '../inference/download/downloads.ts';
import { createLog, type Log } from '../base/log.ts';
import type { Catalogue, CatalogueEntry } from '../inference/models/catalogue/catalogue.ts';
import { LiveCatalogue } from '../inference/models/catalogue/liveCatalogue.ts';
import { readCatalogue } from '../inference/models/catalogue/readCatalogue.ts';
import { watchCatalogue } from '../inference/models/catalogue/watchCatalogue.ts';
import { Metrics } from './metrics/metrics.ts';
import { createGiveWay } from './metrics/giveWay.ts';
import { MemoryBudget } from '../inference/models/pool/memoryBudget.ts';
import { createMeteredPool, exportBudget, type MeteredPoolOptions } from './metrics/poolMetrics.ts';
import type { ModelPool } from '../inference/models/pool/pool.ts';
import { formatsWith, registryWith, type Extension } from '../graph/nodes/index.ts';
import { VectorPool, type VectorListener } from '../graph/retrieval/vectors/vectorPool.ts';
import { VectorStore } from '../graph/retrieval/vectors/vectorStore.ts';
import { listen, type TurngraphServer, type ListenSettings } from './socket/server.ts';
import type { EngineName, ServerContext } from './session/session.ts';

/** Settings that are no flags of `serve`. */
export interface StartSettings extends Omit<ListenSettings, 'closing'> {
  /** Additional node types and formats, instead of those of the option `extend`. */
  readonly extension?: Extension;
  /** Models that are not in the catalogue file. */
  readonly extraModels?: readonly CatalogueEntry[];
  /** How models are downloaded: from another hub than that of the environment, for example. */
  readonly downloads?: DownloadOptions;
  /** Engines that replace the built-in ones, by name. Tests use it to hold a generation at a gate. */
  readonly engines?: { readonly [Name in EngineName | 'http']?: Engine };
  /** The log; default: one as the options have it. */
  readonly log?: Log;
  /** The disk space of --cache-limit; default: one of the server's own. */
  readonly quota?: DiskQuota;
  /** Is told of the vectors of storages. */
  readonly vectorListener?: VectorListener;
  /** Aborts the start and disposes of what was created until then. Once started, the caller disposes of the server. */
  readonly stop?: AbortSignal;
}

/**
 * Composes the server of its parts and starts it.
 * @throws the reason of `stop`, when it is aborted before the models of `preload` are loaded.
 */
export async function start(
  options: ServerOptions,
  {
    extension,
    extraModels = [],
    downloads: downloadOptions,
    engines = {},
    log = logFor(options),
    stop,
    quota = cacheQuota(options),
    vectorListener,
    ...settings
  }: StartSettings = {},
): Promise<TurngraphServer> {
  for (const [flag, folder] of [
    ['--graphs', options.graphs],
    ['--storage-root', options.storageRoot],
  ] as const) {
    if (folder !== '' && !existsSync(folder)) throw new Error(`${flag} ${folder}: there is no such folder`);
    if (folder !== '') await assertFolder(flag, folder);
  }
  await assertFolder('--models', options.models);
  const writeProblem = await findWriteProblem(options.cache);
  if (writeProblem !== undefined) log.warn({ cache: options.cache, why: writeProblem }, cacheUnwritableMessage);
  const read = async (): Promise<Catalogue> => withModels(await readCatalogue(options.catalogue), extraModels);
  const catalogue = new LiveCatalogue(await read());
  for (const problem of catalogue.problems) log.warn({ problem }, 'the catalogue has an entry that cannot be used');
  const metrics = new Metrics();
  const downloads = new Downloads(options.models, downloadOptions);
  const findFile = (entry: CatalogueEntry): Promise<string | undefined> => downloads.findFile(entry);
  const gpuLayers = parseGpuLayers(options.gpuLayers);
  const budget = new MemoryBudget(options);
  exportBudget(budget, metrics);
  const createPool = (engine: Engine, remoteEngine?: Engine): ModelPool =>
    createMeteredPool(
      engine,
      {
        ...options,
        ...(remoteEngine && { remoteEngine }),
        gpuLayers,
        budget,
        catalogue,
        idleMs: options.modelIdle * 1000,
        onLoaded: logLoadedModel(log),
        onResized: (model, { slots, memory }) =>
          log.info(
            { model, slots, contextBytes: memory.context.ram + memory.context.vram },
            'slots of a model changed',
          ),
        findFile,
        findLoras: (entry) => downloads.findLoras(entry),
      },
      metrics,
    );
  const added = extension ?? (await raceAbort(loadExtension(options.extend), stop));
  const [registry, formats] = [registryWith(added), formatsWith(added)];
  const pools: ModelPool[] = [];
  const hasStore = options.cacheLimit > 0 && writeProblem === undefined;
  const vectors = new VectorPool({
    log,
    store: hasStore ? new VectorStore(options.cache, quota, log) : undefined,
    idleMs: options.modelIdle * 1000,
    giveWay: createGiveWay(() => pools),
    listener: vectorListener,
  });
  const mock = engines.mock ?? (await createMockEngine(options.mockScript));
  const closing = new AbortController();
  // After all that can fail: it starts a process.
  const llamaEngine = engines['llama-cpp'] ?? (await createLlamaEngine(options, log, metrics, quota));
  const context: ServerContext = {
    registry,
    formats,
    pools: { 'llama-cpp': createPool(llamaEngine, engines.http ?? httpEngine()), mock: createPool(mock) },
    graphs: new GraphFolder(options.graphs, describeGraphFolder(options.graphs)),
    vectors,
    storageRoot: options.storageRoot || options.graphs,
    limits: limitsOf(options),
    turnTimeoutMs: options.turnTimeout * 1000,
    closing: closing.signal,
    log,
    metrics,
    downloads,
  };
  pools.push(...Object.values(context.pools));
  const listening = await listenOrDispose(context, options, { ...settings, closing });
  const watcher =
    options.watchModels === 'on' ? watchCatalogue({ path: options.catalogue, read, catalogue, log }) : undefined;
  const server: TurngraphServer = {
    ...listening,
    async [Symbol.asyncDispose]() {
      await watcher?.[Symbol.asyncDispose]();
      await listening[Symbol.asyncDispose]();
    },
  };
  try {
    // The server answers while models load; /health/ready reports what is still loading.
    const { signal } = closing;
    const pinned = Promise.all(options.preload.map((name) => context.pools['llama-cpp'].pin(name, { signal })));
    await raceAbort(pinned, stop);
    return server;
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
}

/** Starts to listen; disposes of the models when that fails, because an engine can have a process already. */
async function listenOrDispose(
  context: ServerContext,
  options: ServerOptions,
  settings: ListenSettings,
): Promise<TurngraphServer> {
  try {
    // Before clients are told that the server listens.
    for (const name of options.preload) context.pools['llama-cpp'].entry(name);
    return await listen(context, options, settings);
  } catch (error) {
    await Promise.all(Object.values(context.pools).map((pool) => pool[Symbol.asyncDispose]()));
    throw error;
  }
}

const withModels = (catalogue: Catalogue, models: readonly CatalogueEntry[]): Catalogue => ({
  ...catalogue,
  models: new Map([...catalogue.models, ...models.map((entry) => [entry.name, entry] as const)]),
});

// Clients are told the folder as it was configured, and not where the package is installed.
const describeGraphFolder = (folder: string): string =>
  folder === bundledPath('graphs') ? 'the bundled graphs folder' : `the graphs folder ${folder}`;

const cacheUnwritableMessage = 'no states and measurements can be saved; name another folder with --cache';

const logFor = ({ logLevel: level, json }: ServerOptions): Log => createLog({ level, json });

/** Logs what a model got once it is loaded, and its warnings, such as fewer slots than were asked for. */
const logLoadedModel =
  (log: Log): MeteredPoolOptions['onLoaded'] =>
  (model, loaded, ms) => {
    const { contextSize, notes } = loaded;
    const { backend, gpuLayers, threads, prefillThreads, slots } = loaded.stats();
    const facts = { model, backend, gpuLayers, threads, prefillThreads, slots, contextSize, ms: Math.round(ms) };
    log.info(facts, 'a model is loaded');
    for (const note of notes) log.warn({ model, note }, 'a model is loaded with a limitation');
  };

async function createMockEngine(scriptFile: string): Promise<Engine> {
  if (scriptFile === '') return mockEngine();
  return mockEngine({ script: readMockScript(await readFile(scriptFile, 'utf8'), scriptFile) });
}
