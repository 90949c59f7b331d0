import { readGgufFileInfo } from 'node-llama-cpp';
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
    const { architectureMetadata } = await readGgufFileInfo(file, { readTensorInfo: false, logWarnings: false });
    const { pooling_type: pooling } = Object(architectureMetadata) as { readonly pooling_type?: unknown };
    return poolings.has(pooling) ? 'embedding' : 'chat';
  } catch {
    return 'chat';
  }
}
