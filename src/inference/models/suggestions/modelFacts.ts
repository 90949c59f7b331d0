import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { coalesced } from '../../../base/coalesced.ts';
import { memoized, memoizedByKey } from '../../../base/memoized.ts';
import { describeError } from '../../../protocol/fault.ts';
import type { MemoryUse } from '../../contract/memory.ts';
import { splitFileNames } from '../../contract/model.ts';
import type { Downloads, DownloadStatus } from '../../download/downloads.ts';
import type { KvCacheShape } from '../../llama/gguf/metadata.ts';
import { readGguf } from '../../llama/gguf/validateFile.ts';
import type { Catalogue, CatalogueEntry } from '../catalogue/catalogue.ts';
import { isRemote } from '../catalogue/remoteEntry.ts';
import type { MeasuredSpeed, MeasuredSpeeds } from './measuredSpeeds.ts';

/** What is known of the files of a model. */
export interface ModelFacts extends MeasuredSpeed {
  readonly entry: CatalogueEntry;
  readonly status: DownloadStatus | 'LOADED';
  /** The path of its first file; undefined: not on disk. */
  readonly file?: string | undefined;
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

// So that a large catalogue does not open more files than a process may.
const modelsAtATime = 100;

/** Reads what is known of the files of all models; for all who ask at the same time, they are read together. */
export const readAllFacts = (catalogue: Catalogue, sources: ModelFactSources): Promise<readonly ModelFacts[]> =>
  readersOf(sources)(catalogue)();

/** Where what is known of models is read; one object for all who are to share what was read. */
export interface ModelFactSources {
  readonly downloads: Downloads;
  readonly speeds: MeasuredSpeeds;
}

const readersOf = memoized((sources: ModelFactSources) =>
  memoized((catalogue: Catalogue) =>
    coalesced(async () => {
      const entries = [...catalogue.models.values()];
      const facts: ModelFacts[] = [];
      for (let start = 0; start < entries.length; start += modelsAtATime) {
        const some = entries.slice(start, start + modelsAtATime);
        facts.push(...(await Promise.all(some.map((entry) => readModelFacts(entry, sources)))));
      }
      return facts;
    }),
  ),
);

/** Reads what is known of the files of a model. */
export async function readModelFacts(
  entry: CatalogueEntry,
  { downloads, speeds }: ModelFactSources,
): Promise<ModelFacts> {
  const locating = downloads.locate(entry);
  const located = await locating;
  const status = await downloads.readStatus(entry, locating);
  const [file] = located?.files ?? [];
  const measured = file === undefined && !isRemote(entry) ? {} : await speeds.read(entry, locating);
  if (file !== undefined)
    return {
      entry,
      status,
      file,
      bytesOnDisk: located?.bytes,
      ...measured,
      ...(await readFile({ file, version: await versionOf(file) })),
    };
  // Also of a model of which a part is missing.
  const problem = await downloads.findMissing(entry, locating);
  const keptBytes = await downloads.readKeptBytes(entry);
  return { entry, status, problem, bytesOnDisk: undefined, keptBytes, ...measured, shape: undefined };
}

/** Size and time of the last change of a file, and of the other parts of its model. */
async function versionOf(file: string): Promise<string> {
  const parts = splitFileNames(basename(file)).map((name) => stat(join(dirname(file), name)).catch(() => undefined));
  return (await Promise.all(parts)).map((part) => `${part?.ctimeMs} ${part?.size}`).join();
}

const readFile = memoizedByKey(
  ({ file, version }: { readonly file: string; readonly version: string }) => `${version} ${file}`,
  async ({ file }): Promise<Pick<ModelFacts, 'problem' | 'shape'>> => {
    // Imported on demand: it loads the library, which a server does not use itself.
    const { readKvCacheShape } = await import('../../llama/gguf/metadata.ts');
    const problem = await readGguf(file).then(() => undefined, describeError);
    return { problem, shape: await readKvCacheShape(file) };
  },
);
