import { fileSize, hasModelMagic } from './disk/modelFile.ts';
import { findInHubCache } from './hub/localCache.ts';
import type { FileRecord } from './disk/manifest.ts';
import { isComplete, type SearchPaths } from './isComplete.ts';
import {
  hubUrlPattern,
  repositoryTargets,
  type ExpectedFile,
  type LoraSource,
  type ModelSource,
  type Target,
} from './target.ts';

/** A LoRA adapter of a model, and where it is. */
export interface LocatedLora {
  readonly expected: ExpectedFile;
  /** Where it is downloaded to; undefined: it is a file of the user's own. */
  readonly target: Target | undefined;
  /** Absolute path; undefined: it is not on disk. */
  readonly path: string | undefined;
  /** 0 = it is not on disk. */
  readonly bytes: number;
}

/**
 * The adapters of a model that are downloaded, and where they belong in a models folder.
 * @throws Fault DOWNLOAD_NOT_AVAILABLE when an address is invalid.
 */
export const loraTargets = (source: ModelSource, folder: string): readonly Target[] =>
  (source.variants[0]?.lora ?? []).flatMap((lora) => targetOf(source, lora, folder) ?? []);

/** Finds the adapters of a model, in the order of the catalogue. */
export async function locateLoras(source: ModelSource, paths: SearchPaths): Promise<readonly LocatedLora[]> {
  const loras = source.variants[0]?.lora ?? [];
  const records = loras.length === 0 ? new Map<string, FileRecord>() : await paths.manifest.read();
  return Promise.all(
    loras.map(async (lora, index) => {
      const target = targetOf(source, lora, paths.folder);
      const path = target ? await findTarget(target, records, paths) : source.loraFiles?.[index];
      const bytes = path === undefined ? undefined : await fileSize(path);
      return { expected: expectedOf(lora), target, path: bytes === undefined ? undefined : path, bytes: bytes ?? 0 };
    }),
  );
}

async function findTarget(
  target: Target,
  records: ReadonlyMap<string, FileRecord>,
  { cache }: SearchPaths,
): Promise<string | undefined> {
  if (await isComplete(target, records.get(target.key))) return target.path;
  const cached = await findInHubCache(cache, target);
  if (cached === undefined || !(await hasModelMagic(cached))) return undefined;
  return (await fileSize(cached)) === (target.expected.bytes ?? (await fileSize(cached))) ? cached : undefined;
}

function targetOf(source: ModelSource, lora: LoraSource, folder: string): Target | undefined {
  if (lora.url === undefined) return undefined;
  const [, repo = '', revision = '', file = ''] = new RegExp(hubUrlPattern).exec(lora.url)?.map(decoded) ?? [];
  const [target] = repositoryTargets(
    source.name,
    { repo, revision, files: [file], expected: expectedOf(lora) },
    folder,
  );
  return target;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}

const expectedOf = ({ sha256, size_bytes: bytes }: LoraSource): ExpectedFile => ({ sha256, bytes });
