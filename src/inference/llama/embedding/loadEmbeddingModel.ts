import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { getModuleVersion, type LlamaModel as Weights } from 'node-llama-cpp';
import { availableParallelism } from 'node:os';
import { splitFileNames } from '../../contract/model.ts';
import { fileChecksum } from '../promptCache/fileChecksum.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { LoadOptions, Model } from '../../contract/engine.ts';
import { contextMemoryOf, fitLoadedContext, type LoadedWeights } from '../contextMemory.ts';
import type { ContextOptions } from '../createContext.ts';
import { poolings } from '../gguf/metadata.ts';
import { LlamaEmbeddingModel } from './embeddingModel.ts';

/** Creates the context of an embedding model. @throws Fault MODEL_LOAD_FAILED */
export async function loadEmbeddingModel(
  { file, ...own }: LoadedWeights & { readonly file: string },
  options: LoadOptions,
  { onBatches, onClose }: Pick<ContextOptions, 'onBatches'> & { readonly onClose: (model: Model) => unknown },
): Promise<Model> {
  const { weights } = own;
  const { signal } = options;
  assertPooling(weights);
  const { contextSize, slot, notes } = await fitLoadedContext(own, options);
  // Half of the cores: what is embedded ahead of time is not to take the time of turns.
  const threads = options.threads || Math.max(1, Math.floor(availableParallelism() / 2));
  const context = await weights.createEmbeddingContext({
    contextSize,
    // A model without causal attention sees its text only as a whole.
    batchSize: contextSize,
    threads,
    ...(signal && { createSignal: signal }),
  });
  const progress = { running: false, ended: 0 };
  onBatches?.({ batchTimer: progress, chunkMs: () => undefined });
  return new LlamaEmbeddingModel({
    weights,
    context,
    contextSize,
    fingerprint: await embeddingFingerprint(weights, file, contextSize),
    threads,
    progress,
    memory: { weights: own.weightMemory, context: await contextMemoryOf(own), slot },
    notes: [...notes, ...own.notes],
    onClose,
  });
}

/** Only a file that names its pooling is an embedding model. */
function assertPooling({ fileInfo }: Weights): void {
  const pooling: unknown = Object(fileInfo.architectureMetadata).pooling_type;
  if (poolings.has(pooling)) return;
  const why = pooling === 4 ? 'it ranks documents' : 'its file names no pooling';
  throw new Fault(
    'MODEL_LOAD_FAILED',
    `${why}, so it is no embedding model: remove "purpose" from its entry in models.json, or use another file`,
  );
}

/**
 * What the vectors of an embedding model depend on apart from the texts, as a hash: all of its file or files, the tokens that
 * a text may have, and the release of the engine.
 */
async function embeddingFingerprint({ llama }: Weights, file: string, contextSize: number): Promise<string> {
  const names = splitFileNames(basename(file));
  const checksums = await Promise.all(names.map((name) => fileChecksum(join(dirname(file), name))));
  const engine = [await getModuleVersion(), llama.llamaCppRelease.release];
  return createHash('sha256')
    .update(JSON.stringify([checksums, contextSize, engine]))
    .digest('hex');
}
