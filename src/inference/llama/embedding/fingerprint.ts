import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { getModuleVersion, type LlamaModel as Weights } from 'node-llama-cpp';
import { splitFileNames } from '../../contract/model.ts';
import { fileChecksum } from '../promptCache/fileChecksum.ts';

/**
 * What the vectors of an embedding model depend on apart from the texts, as a hash: all of its file or files, the tokens that
 * a text may have, and the release of the engine.
 */
export async function embeddingFingerprint({ llama }: Weights, file: string, contextSize: number): Promise<string> {
  const names = splitFileNames(basename(file));
  const checksums = await Promise.all(names.map((name) => fileChecksum(join(dirname(file), name))));
  const engine = [await getModuleVersion(), llama.llamaCppRelease.release];
  return createHash('sha256')
    .update(JSON.stringify([checksums, contextSize, engine]))
    .digest('hex');
}
