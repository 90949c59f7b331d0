import { fileSize, hasModelMagic } from './disk/modelFile.ts';
import type { DownloadManifest, FileRecord } from './disk/manifest.ts';
import type { Target } from './target.ts';

/** Where models are searched. */
export interface SearchPaths {
  /** The models folder. */
  readonly folder: string;
  /** The Hugging Face cache, which other programs fill. */
  readonly cache: string;
  readonly manifest: DownloadManifest;
}

/** Whether a file of the models folder is complete: a model, as large as its record and the catalogue say, and of the expected hash. */
export async function isComplete({ path, expected }: Target, record: FileRecord | undefined): Promise<boolean> {
  const bytes = await fileSize(path);
  if (bytes === undefined || bytes !== (record?.bytes ?? bytes) || bytes !== (expected.bytes ?? bytes)) return false;
  if (!(await hasModelMagic(path))) return false;
  return !record?.sha256 || record.sha256 === (expected.sha256 ?? record.sha256);
}
