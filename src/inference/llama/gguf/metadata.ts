import { stat } from 'node:fs/promises';
import { type GgufFileInfo, readGgufFileInfo } from 'node-llama-cpp';
import type { ModelPurpose } from '../../contract/model.ts';

/** How the vectors of the tokens of a text are joined, as `pooling_type` numbers it. */
export const poolings: ReadonlyMap<unknown, string> = new Map([
  [1, 'mean'],
  [2, 'cls'],
  [3, 'last'],
]);

/** What a GGUF file is made for; a file that cannot be read is taken for a chat model. */
export async function readFilePurpose(file: string): Promise<ModelPurpose> {
  try {
    const { pooling_type: pooling } = Object(await readMetadata(file)) as { readonly pooling_type?: unknown };
    return poolings.has(pooling) ? 'embedding' : 'chat';
  } catch {
    return 'chat';
  }
}

async function readMetadata(file: string): Promise<GgufFileInfo['architectureMetadata']> {
  // Opening a named pipe waits for a writer.
  if (!(await stat(file)).isFile()) throw new TypeError(`${file} is no file`);
  return (await readGgufFileInfo(file, { readTensorInfo: false, logWarnings: false })).architectureMetadata;
}

export interface KvCacheShape {
  /** Context size that the model was trained with, in tokens. */
  readonly trainedContext: number;
  /** Bytes of an f16 KV cache per token. An upper bound: layers with a sliding window keep fewer tokens. */
  readonly bytesPerToken: number;
}

const bytesPerValue = 2;

/** Reads the KV cache shape of a GGUF file from its metadata; undefined where that lacks it, or cannot be read. */
export async function readKvCacheShape(file: string): Promise<KvCacheShape | undefined> {
  try {
    const {
      block_count: layers = NaN,
      context_length: trainedContext,
      attention,
      embedding_length,
    } = await readMetadata(file);
    const { head_count: heads = NaN, head_count_kv: kvHeads = heads, key_length, value_length } = attention ?? {};
    const headSize = Number(embedding_length) / total(heads, 1);
    const perHead = Number(key_length ?? headSize) + Number(value_length ?? headSize);
    const bytesPerToken = total(kvHeads, layers) * perHead * bytesPerValue;
    return bytesPerToken > 0 ? { trainedContext: Number(trainedContext), bytesPerToken } : undefined;
  } catch {
    return undefined;
  }
}

/** A number of heads of all layers: it is given once, or for each layer. */
const total = (heads: number | readonly number[], layers: number): number =>
  typeof heads === 'object' ? heads.reduce((sum, count) => sum + count, 0) : heads * layers;
