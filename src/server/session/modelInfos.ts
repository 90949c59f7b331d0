import type { Downloads } from '../../inference/download/downloads.ts';
import { Fault } from '../../protocol/fault.ts';
import { noModelMemory, type MemoryUse, type ModelMemory } from '../../inference/contract/memory.ts';
import type { ListModelsResponse, ModelInfo, Sampling } from '../../protocol/frames.gen.ts';
import type { CatalogueEntry } from '../../inference/models/catalogue/catalogue.ts';
import type { ModelPool } from '../../inference/models/pool/pool.ts';
import { isRemote } from '../../inference/models/catalogue/remoteEntry.ts';
import { defaultSampling, renameSampling } from '../../inference/contract/samplingParams.ts';

// A page of 32 models is well under the 60 KiB of a frame.
const modelsPerPage = 32;

/**
 * One page of `listModels`: models of the catalogue, with their status on disk and in memory.
 * @throws Fault MALFORMED_MESSAGE for an unknown page token.
 */
export async function modelInfos(
  pool: ModelPool,
  downloads: Downloads,
  pageToken: string,
): Promise<ListModelsResponse> {
  const entries = [...pool.catalogue.models.values()];
  const start = pageToken === '' ? 0 : Number(pageToken);
  if (!Number.isInteger(start) || start < 0 || start >= Math.max(1, entries.length)) {
    throw new Fault('MALFORMED_MESSAGE', `listModels.pageToken must be one that the server sent, not "${pageToken}"`);
  }
  const end = start + modelsPerPage;
  const models = await Promise.all(entries.slice(start, end).map((entry) => readModelInfo(pool, downloads, entry)));
  return { models, nextPageToken: end < entries.length ? String(end) : '' };
}

async function readModelInfo(pool: ModelPool, downloads: Downloads, entry: CatalogueEntry): Promise<ModelInfo> {
  const state = pool.state(entry.name);
  const [variant] = entry.variants;
  const [status, bytes] = await Promise.all([downloads.readStatus(entry), downloads.readSize(entry)]);
  return {
    name: entry.name,
    // One that other machines serve has no files that could be missing.
    status: state.loaded ? 'LOADED' : isRemote(entry) ? 'LOCAL' : status,
    pinned: state.pinned,
    agents: state.uses,
    sizeBytes: bytes ?? variant?.size_bytes ?? 0,
    contextSize: state.contextSize || (variant?.context_size ?? 0),
    toolCallFormat: entry.tool_call_format || (state.detectedFormat ?? ''),
    toolCallFormatDetected: entry.tool_call_format === '' && state.detectedFormat !== undefined,
    huggingfaceRepo: variant?.huggingface_repo ?? '',
    files: variant?.files ?? [],
    license: variant?.license ?? '',
    defaultSampling: readSampling(entry),
    description: entry.description,
    purpose: entry.purpose,
    backend: state.stats?.backend ?? '',
    gpuLayers: state.stats?.gpuLayers ?? 0,
    threads: state.stats?.threads ?? 0,
    prefillThreads: state.stats?.prefillThreads ?? 0,
    slots: state.stats?.slots ?? 0,
    ...memoryFigures(state.stats?.memory),
  };
}

/** What is sampled with by default, in the order of the message's fields. */
function readSampling({ default_sampling: sampling }: CatalogueEntry): Sampling {
  const values = renameSampling({ ...defaultSampling, ...sampling }, 'wire');
  const { maxTokensPerSecond, speculate, ...others } = values;
  return { ...others, maxTokensPerSecond, speculate };
}

function memoryFigures(memory: ModelMemory = noModelMemory) {
  const { weights, context, slot } = memory;
  return {
    weightsBytes: sizeOf(weights),
    contextBytes: sizeOf(context),
    slotBytes: sizeOf(slot),
    vramBytes: weights.vram + context.vram,
  };
}

const sizeOf = ({ ram, vram }: MemoryUse): number => ram + vram;
