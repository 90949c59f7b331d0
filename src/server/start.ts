import { existsSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { raceAbort } from '../base/abort.ts';
import { type ServerOptions, parseGpuLayers } from './config.ts';
import type { Engine } from '../inference/contract/engine.ts';
import { cacheQuota, createLlamaEngine, createLlamaServerEngine } from './llamaEngine.ts';
import { httpEngine } from '../inference/remote/engine.ts';
import { mockEngine } from '../inference/mock/engine.ts';
import { readMockScript } from '../inference/mock/script.ts';
import { assertFolder, findWriteProblem, readTextFile } from '../base/filesystem.ts';
import { GraphFolder } from '../graph/compile/graphFolder.ts';
import { loadExtension, formatsWith, registryWith, type Extension } from '../graph/nodes/index.ts';
import { Downloads, type DownloadOptions } from '../inference/download/downloads.ts';
import { createLog, type Log } from '../base/log.ts';
import { type Catalogue, type CatalogueEntry, readCatalogue } from '../inference/models/catalogue/catalogue.ts';
import { LiveCatalogue, watchCatalogue } from '../inference/models/catalogue/liveCatalogue.ts';
import { Metrics } from './metrics/metrics.ts';
import { MemoryBudget } from '../inference/models/pool/memoryBudget.ts';
import { type MeasuredSpeeds, measuredSpeeds } from '../inference/models/suggestions/measuredSpeeds.ts';
import { measureMs, readMachine } from '../inference/models/suggestions/machine.ts';
import { createMeteredPool, exportBudget, type MeteredPoolOptions } from './metrics/poolMetrics.ts';
import { modelChooser } from './modelChooser.ts';
import type { ModelPool } from '../inference/models/pool/pool.ts';
import { VectorPool, type VectorListener } from '../graph/retrieval/vectors/vectorPool.ts';
import { vectorStore } from '../graph/retrieval/vectors/vectorStore.ts';
import { memoryFolder } from '../graph/storage/memoryFolder.ts';
import { listen, type TurngraphServer, type ListenSettings } from './socket/server.ts';
import type { EngineName, ServerContext, ServerMachine } from './session/session.ts';

/** Settings that are no flags of `serve`. */
export interface StartSettings extends Omit<ListenSettings, 'closing'> {
  /** Additional node types and formats, instead of those of the option `extend`. */
  readonly extension?: Extension;
  /** Models that are not in the catalogue file. */
  readonly extraModels?: readonly CatalogueEntry[];
  /** How models are downloaded: from another hub than that of the environment, for example. */
  readonly downloads?: DownloadOptions;
  /** Engines that replace the built-in ones, by name. Tests use it to hold a generation at a gate. */
  readonly engines?: { readonly [Name in EngineName | 'http' | 'llama-server']?: Engine };
  /** The log; default: one as the options have it. */
  readonly log?: Log;
  /** Wraps the llama.cpp engine, for a command that watches it. */
  readonly watchEngine?: (engine: Engine) => Engine;
  /** Reads the machine, instead of measuring it. Tests use it. */
  readonly readMachine?: ServerContext['readMachine'];
  /** Is told of the vectors of storages. */
  readonly vectorListener?: VectorListener;
  /** Aborts the start and disposes of what was created until then. Once started, the caller disposes of the server. */
  readonly stop?: AbortSignal;
}

/** Composes the server of its parts and starts it. @throws the reason of `stop`, aborted during `preload`. */
export async function start(options: ServerOptions, settings: StartSettings = {}): Promise<TurngraphServer> {
  const { extraModels = [], stop } = settings;
  const { log = createLog({ level: options.logLevel, json: options.json, file: options.logFile }) } = settings;
  const canCache = await checkFolders(options, log);
  const read = async (): Promise<Catalogue> => withModels(await readCatalogue(options.catalogue), extraModels);
  const catalogue = new LiveCatalogue(await read());
  for (const problem of catalogue.problems) log.warn({ problem }, 'the catalogue has an entry that cannot be used');
  const closing = new AbortController();
  const context = await createContext(options, settings, { catalogue, log, canCache, closing: closing.signal });
  const listening = await listenOrDispose(context, options, { ...settings, closing });
  const watcher = options.watchModels === 'on' ? watchCatalogue(options.catalogue, catalogue, read, log) : undefined;
  const server: TurngraphServer = {
    ...listening,
    async [Symbol.asyncDispose]() {
      // The first one refuses requests from now on, however long the other reads.
      await Promise.all([listening[Symbol.asyncDispose](), watcher?.[Symbol.asyncDispose]()]);
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

/** Returns whether the cache folder can be written to. @throws Error for another folder that cannot be used. */
async function checkFolders(options: ServerOptions, log: Log): Promise<boolean> {
  const { graphs, storageRoot, page, models, cache, memory } = options;
  for (const [flag, folder] of Object.entries({ '--graphs': graphs, '--storage-root': storageRoot, '--page': page })) {
    if (folder !== '' && !existsSync(folder)) throw new Error(`${flag} ${folder}: there is no such folder`);
    if (folder !== '') await assertFolder(flag, folder);
  }
  await assertFolder('--models', models);
  const writeProblem = await findWriteProblem(cache);
  const memoryProblem = memory === '' ? undefined : await findWriteProblem(memory);
  if (memoryProblem !== undefined) log.warn({ memory, why: memoryProblem }, memoryUnwritableMessage);
  if (writeProblem !== undefined) log.warn({ cache, why: writeProblem }, cacheUnwritableMessage);
  return writeProblem === undefined;
}

interface ContextParts {
  readonly catalogue: LiveCatalogue;
  readonly log: Log;
  /** Whether the cache folder can be written to. */
  readonly canCache: boolean;
  /** Aborted when the server begins to shut down. */
  readonly closing: AbortSignal;
}

async function createContext(
  options: ServerOptions,
  settings: StartSettings,
  { catalogue, log, canCache, closing }: ContextParts,
): Promise<ServerContext> {
  const { engines = {}, watchEngine = (engine) => engine, stop } = settings;
  const quota = cacheQuota(options);
  const metrics = new Metrics();
  const downloads = new Downloads(options.models, settings.downloads);
  const budget = new MemoryBudget(options);
  const keepsCache = canCache && options.cacheLimit > 0;
  const speeds = measuredSpeeds({ downloads, folder: keepsCache ? options.cache : undefined, gpu: options.gpu });
  const createPool = poolFactory(options, { downloads, log, metrics }, { catalogue, budget, speeds });
  const extension = settings.extension ?? (await raceAbort(loadExtension(options.extend), stop));
  const [registry, formats] = [registryWith(extension), formatsWith(extension)];
  const pools: ModelPool[] = [];
  const vectors = new VectorPool({
    log,
    store: keepsCache ? vectorStore(options.cache, quota, log) : undefined,
    idleMs: options.modelIdle * 1000,
    yieldToTurns: createYieldToTurns(pools),
    listener: settings.vectorListener,
  });
  const mock = engines.mock ?? (await createMockEngine(options.mockScript));
  // After all that can fail: it starts a process.
  const llamaEngine = engines['llama-cpp'] ?? watchEngine(await createLlamaEngine(options, log, metrics, quota));
  const poolByEngine = {
    'llama-cpp': createPool(llamaEngine, {
      http: engines.http ?? httpEngine(),
      'llama-server': engines['llama-server'] ?? createLlamaServerEngine(options, log, metrics),
    }),
    mock: createPool(mock),
  };
  pools.push(...Object.values(poolByEngine));
  const readMachine = settings.readMachine ?? machineReader(options, llamaEngine, budget, { pools, signal: closing });
  return {
    registry,
    formats,
    pools: poolByEngine,
    graphs: new GraphFolder(options.graphs),
    vectors,
    storageRoot: options.storageRoot || options.graphs,
    memory: options.memory === '' ? undefined : memoryFolder(options.memory, options.maxMemoryBytes),
    limits: options,
    turnTimeoutMs: options.turnTimeout * 1000,
    closing,
    log,
    metrics,
    downloads,
    chooser: modelChooser({ downloads, speeds }, readMachine),
    readMachine,
  };
}

/** What models may use of the machine: no more than `--memory-limit` and `--vram-limit` leave. */
function machineReader(
  { gpu, slots }: ServerOptions,
  engine: Engine,
  budget: MemoryBudget,
  { pools, signal }: { readonly pools: readonly ModelPool[]; readonly signal: AbortSignal },
): ServerContext['readMachine'] {
  const read = async (): Promise<ServerMachine> => {
    const { freeRam, card, ...machine } = await readMachine(engine, gpu, {
      untilIdle: () => createYieldToTurns(pools)(measureMs, signal).catch(() => undefined),
      areComputing: () => isComputing(pools),
    });
    const { ram, vram } = budget.left;
    const freeCard = card && { ...card, freeBytes: Math.min(card.freeBytes, vram) };
    return { ...machine, freeRam: Math.min(freeRam, ram), card: freeCard, slots };
  };
  // One at a time, which all who ask meanwhile share: for each, the engine loads its library.
  let reading: Promise<ServerMachine> | undefined;
  return () => (reading ??= read().finally(() => (reading = undefined)));
}

interface PoolParts {
  readonly catalogue: LiveCatalogue;
  readonly budget: MemoryBudget;
  readonly speeds: MeasuredSpeeds;
}

function poolFactory(
  options: ServerOptions,
  { downloads, log, metrics }: Pick<ServerContext, 'downloads' | 'log' | 'metrics'>,
  { catalogue, budget, speeds }: PoolParts,
): (engine: Engine, engines?: MeteredPoolOptions['engines']) => ModelPool {
  const gpuLayers = parseGpuLayers(options.gpuLayers);
  exportBudget(budget, metrics);
  return (engine, engines = {}) =>
    createMeteredPool(
      engine,
      {
        ...options,
        engines,
        runsInLlamaServer: options.llamaServer !== '' && 'llama-server' in engines,
        gpuLayers,
        budget,
        catalogue,
        idleMs: options.modelIdle * 1000,
        onLoaded: logLoadedModel(log),
        onSpeed(name, rate) {
          const entry = catalogue.models.get(name);
          if (engine.needsFiles && entry) void speeds.record(entry, rate);
        },
        onResized: (model, { slots, memory }) =>
          log.info(
            { model, slots, contextBytes: memory.context.ram + memory.context.vram },
            'slots of a model changed',
          ),
        findFiles: (entry) => downloads.locate(entry),
      },
      metrics,
    );
}

/** While turns compute, background work takes at most one part in so many of the time. */
const shareDivisor = 20;
/** Background work goes on after this time, even if turns compute all the while. */
const maxYieldMs = 2000;
const pollMs = 25;

/** Creates the function that background work calls between its steps: it waits while turns need the processor. */
const createYieldToTurns =
  (pools: readonly ModelPool[]) =>
  async (stepMs: number, signal: AbortSignal): Promise<void> => {
    const end = performance.now() + Math.min(maxYieldMs, stepMs * shareDivisor);
    while (performance.now() < end && isComputing(pools)) await wait(pollMs, undefined, { signal });
  };

const isComputing = (pools: readonly ModelPool[]): boolean =>
  pools.some((pool) =>
    pool.entries.some(({ name, purpose }) => purpose === 'chat' && (pool.state(name).stats?.slotsBusy ?? 0) > 0),
  );

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

const memoryUnwritableMessage = 'no storage can be kept (persist); name another folder with --memory';
const cacheUnwritableMessage = 'no states and measurements can be saved; name another folder with --cache';

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
  return mockEngine({ script: readMockScript(await readTextFile(scriptFile), scriptFile) });
}
