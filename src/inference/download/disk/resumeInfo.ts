import { uptime } from 'node:os';
import { isNoFileError, readRegularFile } from '../../../base/filesystem.ts';
import { createReader, type FromSchema, type ObjectSchema } from '../../../protocol/schema.ts';
import type { RemoteFile } from '../hub/remoteFile.ts';
import type { Target } from '../target.ts';
import { partialFileSize } from './modelFile.ts';

const stringType = { type: 'string' } as const;
const numberType = { type: 'number' } as const;

// Written before the first byte. A partial file without matching metadata is discarded.
const resumeInfoSchema = {
  type: 'object',
  required: ['repo', 'revision', 'file', 'etag', 'bytes', 'serverTag', 'flushed', 'digest', 'bootedAt'],
  properties: {
    repo: stringType,
    revision: stringType,
    file: stringType,
    // What the hub reported: its ETag, and the size of the whole file (0 = not known).
    etag: stringType,
    bytes: numberType,
    // Validator of the host that delivers, which need not be the hub: its strong ETag or its Last-Modified, for If-Range.
    serverTag: stringType,
    // This many bytes were flushed to the disk and survive a power cut; `digest` is their SHA-256.
    flushed: numberType,
    digest: stringType,
    // When the machine started, in Unix seconds. Bytes that were written but not flushed are lost when it goes down.
    bootedAt: numberType,
  },
} as const satisfies ObjectSchema;

/** Resume metadata of a partial file: the content of `.part.json`. */
export type ResumeInfo = FromSchema<typeof resumeInfoSchema>;

const parseResumeInfo = createReader(resumeInfoSchema);
const bootToleranceSeconds = 60;

/** Path of the partial file of a target. */
export const partialPath = (target: string): string => `${target}.part`;
/** Path of the resume metadata of a partial file. */
export const resumeInfoPath = (partialFile: string): string => `${partialFile}.json`;

/** Resume metadata of a partial file without bytes. */
export const createResumeInfo = ({ repo, revision, file }: Target, { etag, bytes = 0 }: RemoteFile): ResumeInfo => ({
  repo,
  revision,
  file,
  etag,
  bytes,
  serverTag: '',
  flushed: 0,
  digest: '',
  bootedAt: currentBootedAt(),
});

/**
 * Reads the resume metadata of a partial file; undefined when it is missing or invalid.
 * @throws the system's error when it cannot be read, for example for want of file handles: the partial file is kept then.
 */
export async function readResumeInfo(partialFile: string): Promise<ResumeInfo | undefined> {
  const bytes = await readRegularFile(resumeInfoPath(partialFile)).catch((error: unknown) => {
    if (!isNoFileError(error)) throw error;
  });
  try {
    const result = parseResumeInfo(JSON.parse(bytes?.toString('utf8') ?? ''));
    return result.ok ? result.value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether two are of the same version of one file. */
export const isSameVersion = (a: ResumeInfo, b: ResumeInfo): boolean =>
  (['repo', 'revision', 'file', 'etag', 'bytes'] as const).every((name) => a[name] === b[name]);

/** Whether the machine runs without interruption since the metadata was written. */
export const isSameBoot = ({ bootedAt }: ResumeInfo): boolean =>
  Math.abs(currentBootedAt() - bootedAt) < bootToleranceSeconds;

/**
 * Bytes of an earlier attempt at this version of the file; `PartialFile.open` may trust fewer of them.
 * @throws as `readResumeInfo`.
 */
export async function resumableBytes(target: Target, remoteFile: RemoteFile): Promise<number> {
  const path = partialPath(target.path);
  const previous = await readResumeInfo(path);
  if (!previous || !isSameVersion(previous, createResumeInfo(target, remoteFile))) return 0;
  return (await partialFileSize(path)) ?? 0;
}

const currentBootedAt = (): number => Date.now() / 1000 - uptime();
