import { filesKey } from '../../inference/download/downloads.ts';
import { slowLoadMs } from '../../inference/contract/pace.ts';
import { Fault, malformed } from '../../protocol/fault.ts';
import { type MemoryUse, noModelMemory } from '../../inference/contract/memory.ts';
import type { CodeName, ListModelsResponse, ModelInfo, Sampling } from '../../protocol/frames.gen.ts';
import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import type { ModelPool } from '../../inference/models/pool/pool.ts';
import { isRemote } from '../../inference/models/catalogue/remoteEntry.ts';
import { defaultSampling, renameSampling } from '../../inference/contract/samplingParams.ts';
import type { OnDownload } from '../../inference/download/progress.ts';
import type { LoadWait, OnProgress } from '../../inference/models/pool/loadWait.ts';
import { readWish, replySuggestions } from './suggestModels.ts';
import { acknowledged, type Handlers, type Reply, type ServerContext, type Session } from './session.ts';

/** Request handlers for models: list, suggest, load, unload, download, cancel, delete. */
export const modelHandlers = {
  async listModels({ pool, context }, { pageToken }, reply) {
    reply('listModels', await modelInfos(pool, context, pageToken));
  },

  suggestModels(session, request, reply) {
    session.assertOpen();
    const wish = readWish(request);
    return { background: replySuggestions(session, ...wish, reply) };
  },

  loadModel(session, { modelName }, reply) {
    session.assertOpen();
    // A pinned model keeps loading when the client disconnects, but not when the server shuts down.
    const loadWait = { onProgress: loadProgress(modelName, reply), signal: session.context.closing };
    return { background: session.pool.pin(modelName, loadWait).then(() => reply('loadModel', {})) };
  },

  unloadModel: acknowledged(({ pool }, { modelName }) => pool.unpin(modelName)),

  downloadModel(session, { modelName }, reply) {
    session.assertOpen();
    const { signal, pool, context } = session;
    const onProgress = downloadProgress(modelName, reply);
    const download = context.downloads.start(pool.entry(modelName), session, { signal, onProgress });
    return { background: download.then(({ bytes }) => reply('downloadModel', { sizeBytes: bytes })) };
  },

  cancelDownload: acknowledged((session, { modelName }) => {
    const { name } = session.pool.entry(modelName);
    for (const owner of session.downloadOwners) session.context.downloads.cancel(name, owner);
  }),

  async deleteModel({ pool, context, signal }, { modelName }, reply) {
    const entry = pool.entry(modelName);
    await context.downloads.remove(entry, { signal, releaseModels: () => releaseModels(context, entry) });
    reply('ack', {});
  },
} as const satisfies Partial<Handlers>;

/** Unloads the models of an entry's files; blocks loads until disposed of. @throws Fault MODEL_IN_USE */
async function releaseModels({ pools }: ServerContext, entry: CatalogueEntry): Promise<Disposable> {
  const blocks: Disposable[] = [];
  const unblock = (): void => blocks.forEach((block) => block[Symbol.dispose]());
  try {
    for (const pool of Object.values(pools)) {
      const sharingFiles = pool.entries.filter((other) => filesKey(other) === filesKey(entry));
      for (const name of new Set(sharingFiles.map((other) => other.name))) blocks.push(await pool.blockLoads(name));
    }
    return { [Symbol.dispose]: unblock };
  } catch (error) {
    unblock();
    throw error;
  }
}

/** How an agent waits for its model: reports progress, and downloads the model if the session allows that. */
export function loadWaitFor(session: Session, model: string, reply: Reply): LoadWait {
  const onProgress = loadProgress(model, reply);
  if (!session.autoDownloads) return { onProgress };
  return {
    onProgress,
    async download(entry) {
      const { signal, context, downloadOwners } = session;
      // One owner per agent: two agents of one session can wait for the same download, and cancel it separately.
      const owner = {};
      downloadOwners.add(owner);
      try {
        await context.downloads.start(entry, owner, { signal, onProgress: downloadProgress(model, reply) });
      } catch (error) {
        throw autoDownloadFault(model, error);
      } finally {
        downloadOwners.delete(owner);
      }
    },
  };
}

// These errors are passed on unchanged: the download itself did not fail.
const codesPassedThrough = new Set<CodeName>(['DOWNLOAD_CANCELLED', 'SERVER_SHUTTING_DOWN', 'INTERNAL']);

function autoDownloadFault(model: string, cause: unknown): unknown {
  const { name, message } = Fault.from(cause);
  if (codesPassedThrough.has(name)) return cause;
  return new Fault('MODEL_AUTO_DOWNLOAD_FAILED', `"${model}" could not be downloaded: ${message}`, { cause });
}

// Throttles load progress to at most 50 frames per load: finer steps are not visible in a progress bar.
const minFractionStep = 0.02;

/** Reports load progress to the client whose request waits for the model; throttled to steps of 2 %, or some seconds. */
function loadProgress(modelName: string, reply: Reply): OnProgress {
  let lastSent = -1;
  let lastSentMs = 0;
  return (fraction) => {
    const isDue = performance.now() - lastSentMs >= slowLoadMs / 2;
    if (fraction < 1 && fraction - lastSent < minFractionStep && !isDue) return;
    lastSent = fraction;
    lastSentMs = performance.now();
    reply('modelProgress', { modelName, phase: 'LOADING', fraction, bytesDone: 0, bytesTotal: 0 });
  };
}

/** Reports download progress to the client whose request waits for the model; throttled by the download itself. */
const downloadProgress =
  (modelName: string, reply: Reply): OnDownload =>
  (progress) =>
    reply('modelProgress', { modelName, ...progress });

// A page of 32 models is well under the 60 KiB of a frame.
const modelsPerPage = 32;

/** A page of `listModels`: models with their status on disk and in memory. @throws Fault MALFORMED_MESSAGE */
async function modelInfos(pool: ModelPool, context: ServerContext, pageToken: string): Promise<ListModelsResponse> {
  const entries = [...pool.catalogue.models.values()];
  const start = pageToken === '' ? 0 : Number(pageToken);
  if (!Number.isInteger(start) || start < 0 || start >= Math.max(1, entries.length))
    throw malformed(`listModels.pageToken must be one that the server sent, not "${pageToken}"`);
  const end = start + modelsPerPage;
  const models = await Promise.all(entries.slice(start, end).map((entry) => readModelInfo(pool, context, entry)));
  return { models, nextPageToken: end < entries.length ? String(end) : '' };
}

async function readModelInfo(
  pool: ModelPool,
  { downloads, chooser }: ServerContext,
  entry: CatalogueEntry,
): Promise<ModelInfo> {
  const state = pool.state(entry.name);
  const [variant] = entry.variants;
  const { backend = '', gpuLayers = 0, threads = 0, prefillThreads = 0, slots = 0, memory } = state.stats ?? {};
  const { weights, context, slot } = memory ?? noModelMemory;
  const locating = downloads.locate(entry);
  const [status, located, { measuredRate: tokensPerSecond = 0 }] = await Promise.all([
    downloads.readStatus(entry, locating),
    locating,
    chooser.speeds.read(entry, locating),
  ]);
  return {
    name: entry.name,
    // One that other machines serve has no files that could be missing.
    status: state.loaded ? 'LOADED' : isRemote(entry) ? 'LOCAL' : status,
    pinned: state.pinned,
    agents: state.uses,
    sizeBytes: located?.bytes ?? variant?.size_bytes ?? 0,
    contextSize: state.contextSize || (variant?.context_size ?? 0),
    toolCallFormat: entry.tool_call_format || (state.detectedFormat ?? ''),
    toolCallFormatDetected: entry.tool_call_format === '' && state.detectedFormat !== undefined,
    huggingfaceRepo: variant?.huggingface_repo ?? '',
    files: variant?.files ?? [],
    license: variant?.license ?? '',
    defaultSampling: readSampling(entry),
    description: entry.description,
    purpose: entry.purpose,
    backend,
    gpuLayers,
    threads,
    prefillThreads,
    slots,
    weightsBytes: sizeOf(weights),
    contextBytes: sizeOf(context),
    slotBytes: sizeOf(slot),
    vramBytes: weights.vram + context.vram,
    tokensPerSecond,
    choice: chooser.judgementOf(entry.name),
  };
}

/** What is sampled with by default, in the order of the message's fields. */
function readSampling({ default_sampling: sampling }: CatalogueEntry): Sampling {
  const values = renameSampling({ ...defaultSampling, ...sampling }, 'wire');
  const { maxTokensPerSecond, speculate, ...others } = values;
  return { ...others, maxTokensPerSecond, speculate };
}

const sizeOf = ({ ram, vram }: MemoryUse): number => ram + vram;
