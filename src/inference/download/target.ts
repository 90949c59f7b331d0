import { existsSync } from 'node:fs';
import { isAbsolute, join, relative, resolve } from 'node:path';
import { Fault } from '../../protocol/fault.ts';
import { missingPart } from '../contract/model.ts';
import { findPathProblem } from '../../base/filesystem.ts';

/** What a download needs to know of a model; an entry of the catalogue has it. */
export interface ModelSource {
  readonly name: string;
  /** Absolute path of the first file when the entry has a `local_path`: a file of the user's own. */
  readonly file: string | undefined;
  /** Absolute paths of its LoRA adapters, in their order; undefined: that one is downloaded. */
  readonly loraFiles?: readonly (string | undefined)[] | undefined;
  readonly variants: readonly ModelSourceVariant[];
}

/** The repository and the files of a model, and what the catalogue knows of their content. */
export interface ModelSourceVariant {
  readonly huggingface_repo?: string;
  readonly revision: string;
  readonly files: readonly string[];
  readonly sha256?: string;
  readonly size_bytes?: number;
  readonly lora?: readonly LoraSource[];
}

/** A LoRA adapter of a model as the catalogue has it: a file of the user's own, or one that is downloaded. */
export interface LoraSource extends Pick<ModelSourceVariant, 'sha256' | 'size_bytes'> {
  readonly file?: string;
  /** The address of a file of a repository. */
  readonly url?: string;
}

/** Addresses of files that can be downloaded. */
export const hubUrlPattern = '^https://huggingface\\.co/([^/?#]+/[^/?#]+)/(?:resolve|blob)/([^/?#]+)/([^?#]+\\.gguf)$';

/** One file of a repository, and its path on disk. */
export interface Target {
  readonly repo: string;
  readonly revision: string;
  /** Path within the repository. */
  readonly file: string;
  /** Path within the models folder, with slashes: the file's key in the manifest. */
  readonly key: string;
  readonly path: string;
  /** What the catalogue says of this file. */
  readonly expected: ExpectedFile;
}

/** Size and hash that a file must have; undefined = not known. */
export interface ExpectedFile {
  readonly bytes: number | undefined;
  readonly sha256: string | undefined;
}

/** How a file differs from what it must be, in what is known of both. */
export function listDifferences(actual: ExpectedFile, expected: ExpectedFile): readonly string[] {
  const isOther = (name: keyof ExpectedFile): boolean =>
    actual[name] !== undefined && expected[name] !== undefined && actual[name] !== expected[name];
  return [
    ...(isOther('bytes') ? [`${actual.bytes} bytes instead of ${expected.bytes}`] : []),
    ...(isOther('sha256') ? [`SHA-256 ${actual.sha256} instead of ${expected.sha256}`] : []),
  ];
}

/** What the catalogue says of the file of a variant, or of an adapter: size and hash of a variant are those of its one file. */
export function expectedByCatalogue(source: Partial<ModelSourceVariant> | undefined): ExpectedFile {
  const { files, size_bytes: bytes, sha256 } = source ?? {};
  return files && files.length !== 1 ? { bytes: undefined, sha256: undefined } : { bytes, sha256 };
}

/** The files of a model without adapters, and their places. @throws Fault DOWNLOAD_NOT_AVAILABLE */
export function targetsOf({ name, file: own, variants: [variant] }: ModelSource, folder: string): readonly Target[] {
  const missing = own === undefined ? '' : `there is no ${own}, and `;
  const { huggingface_repo: repo, revision = 'main', files = [] } = variant ?? {};
  if (repo === undefined) throw unavailable(name, `${missing}its entry in the catalogue has no huggingface_repo`);
  const expected = expectedByCatalogue(variant);
  return files.map((file) => targetIn(folder, name, { repo, revision, file, expected }));
}

/** A file of a repository, and its place in a folder. @param name of the model. @throws Fault DOWNLOAD_NOT_AVAILABLE */
export function targetIn(folder: string, name: string, source: Omit<Target, 'key' | 'path'>): Target {
  const { repo, revision, file } = source;
  if (!isRepoId(repo)) throw unavailable(name, `its huggingface_repo must be OWNER/NAME, not "${repo}"`);
  if (!isPathWithin(revision))
    throw unavailable(name, `its revision "${revision}" is invalid; use a branch, a tag or a commit`);
  if (!isPathWithin(file))
    throw unavailable(name, `its file "${file}" must be a path within the repository, without ".."`);
  const key = `${repo}${revision === 'main' ? '' : `@${encodeURIComponent(revision)}`}/${file}`;
  const problem = findPathProblem(key);
  if (problem !== undefined) throw unavailable(name, `${key} ${problem}`);
  return { ...source, key, path: join(folder, ...key.split('/')) };
}

const unavailable = (name: string, reason: string): Fault =>
  new Fault('DOWNLOAD_NOT_AVAILABLE', `"${name}" cannot be downloaded: ${reason}`);

/** The files of a model that could be downloaded; none where its entry names no valid repository and files. */
export function targetsOrEmpty(source: ModelSource, folder: string): readonly Target[] {
  try {
    return targetsOf(source, folder);
  } catch {
    return [];
  }
}

/** The files of a model with a `local_path`: the first one, and the others relative to it. */
export function localFiles({ file, variants: [variant] }: ModelSource): readonly string[] {
  const [first, ...others] = variant?.files ?? [];
  if (file === undefined || first === undefined) return [];
  const folder = resolve(file, relative(first, '.'));
  return [file, ...others.map((other) => resolve(folder, other))];
}

/** Which of the files of a model is not there, as a sentence; undefined: all are. */
export function findMissingFile(files: readonly string[]): string | undefined {
  const index = files.findIndex((file) => !existsSync(file));
  if (index < 0) return undefined;
  return `there is no file ${files[index]}${files.length > 1 ? `: ${missingPart(index, files.length)}` : ''}`;
}

export const describeTarget = ({ repo, file }: Target): string => `${file} of ${repo}`;

const isRepoId = (repo: string): boolean =>
  repo.split('/').length === 2 && isPathWithin(repo) && /^[\w./-]+$/.test(repo);

// Rejects all that could name another file, another folder or a device on some system.
const isPathWithin = (path: string): boolean =>
  !isAbsolute(path) && path.split('/').every((segment) => /^(?!\.{1,2}$)[^\\:*?"<>|\p{Cc}]+$/u.test(segment));
