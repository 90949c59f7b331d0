import { stat } from 'node:fs/promises';
import { memoizedByKey } from '../../../base/memoized.ts';
import { describeError } from '../../../protocol/fault.ts';
import type { MemoryUse } from '../../contract/memory.ts';
import type { Downloads, DownloadStatus } from '../../download/downloads.ts';
import type { KvCacheShape } from '../../llama/gguf/metadata.ts';
import { readGguf } from '../../llama/gguf/validateFile.ts';
import type { CatalogueEntry } from '../catalogue/catalogue.ts';

/** What is known of the files of a model. */
export interface ModelFacts {
  readonly entry: CatalogueEntry;
  readonly status: DownloadStatus | 'LOADED';
  /** Why its files cannot be used; undefined: they can, or there are none. */
  readonly problem?: string | undefined;
  /** Size on disk; undefined: not on disk. */
  readonly bytesOnDisk: number | undefined;
  /** Bytes of it in the models folder, from which a download resumes. Default: 0. */
  readonly keptBytes?: number;
  /** Memory that it takes already, because it is loaded. Default: none. */
  readonly held?: MemoryUse | undefined;
  /** From the file; undefined: not on disk. */
  readonly shape: KvCacheShape | undefined;
}

/** Reads what is known of the files of a model. */
export async function readModelFacts(downloads: Downloads, entry: CatalogueEntry): Promise<ModelFacts> {
  const located = await downloads.locate(entry);
  const [file] = located?.files ?? [];
  const version = file === undefined ? undefined : await stat(file).catch(() => undefined);
  const shape =
    file === undefined ? undefined : await readShape({ file, version: `${version?.mtimeMs} ${version?.size}` });
  const [status, problem] = [await downloads.readStatus(entry), await findFileProblem(downloads, entry)];
  const keptBytes = located ? 0 : await downloads.readKeptBytes(entry);
  return { entry, status, problem, bytesOnDisk: located?.bytes, keptBytes, shape };
}

const readShape = memoizedByKey(
  ({ file, version }: { readonly file: string; readonly version: string }) => `${version} ${file}`,
  async ({ file }) => {
    // Imported on demand: it loads the library, which a server does not use itself.
    const { readKvCacheShape } = await import('../../llama/gguf/metadata.ts');
    return readKvCacheShape(file);
  },
);

/** Why the files of a model cannot be used, a missing part included; undefined: they can, or there are none. */
export async function findFileProblem(downloads: Downloads, entry: CatalogueEntry): Promise<string | undefined> {
  const [file] = (await downloads.locate(entry))?.files ?? [];
  if (file === undefined) return downloads.findMissing(entry);
  return readGguf(file).then(() => undefined, describeError);
}
