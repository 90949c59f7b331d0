import { isAbsolute, join, relative, resolve } from 'node:path';
import { Fault } from '../fault.ts';

/** What a download must know of a model; an entry of the catalogue has it. */
export interface ModelSource {
  readonly name: string;
  /** Absolute path of the first file, when it is the user's own. */
  readonly file: string | undefined;
  readonly variants: readonly ModelSourceVariant[];
}

/** Where the files of a model come from, and what is known of them beforehand. */
export interface ModelSourceVariant {
  readonly huggingface_repo?: string;
  readonly revision: string;
  readonly files: readonly string[];
  readonly sha256?: string;
  readonly size_bytes?: number;
}

/** One file of a repository, and where it belongs on disk. */
export interface Target {
  readonly repo: string;
  readonly revision: string;
  readonly file: string;
  /** Path within the models folder, with slashes: its name in downloads.json. */
  readonly key: string;
  readonly path: string;
  /** What the catalogue says of this file. */
  readonly expected: Expected;
}

/** What a file must be; what is undefined is not known. */
export interface Expected {
  readonly sha256: string | undefined;
  readonly bytes: number | undefined;
}

/** The files that a model is made of in a models folder. @throws Fault DOWNLOAD_NOT_AVAILABLE when it has none to fetch. */
export function targetsOf({ name, file: own, variants: [variant] }: ModelSource, folder: string): readonly Target[] {
  const refuse = (why: string): never => {
    throw new Fault('DOWNLOAD_NOT_AVAILABLE', `"${name}" cannot be downloaded: ${why}`);
  };
  const { huggingface_repo: repo, revision = 'main', files = [] } = variant ?? {};
  const missing = own === undefined ? '' : `there is no ${own}, and `;
  if (repo === undefined) return refuse(`${missing}its entry in the catalogue has no huggingface_repo`);
  if (!isRepo(repo)) return refuse(`its huggingface_repo must be OWNER/NAME, not "${repo}"`);
  if (!isPath(revision)) return refuse(`its revision is none: "${revision}"`);
  const bad = files.find((file) => !isPath(file));
  if (bad !== undefined) return refuse(`its file "${bad}" must be a path within the repository, without ".."`);
  const alone = files.length === 1;
  return files.map((file) => {
    const key = `${repo}${revision === 'main' ? '' : `@${encodeURIComponent(revision)}`}/${file}`;
    const expected = {
      sha256: alone ? variant?.sha256 : undefined,
      bytes: alone ? variant?.size_bytes : undefined,
    };
    return { repo, revision, file, key, path: join(folder, ...key.split('/')), expected };
  });
}

/** The files of a model whose catalogue gives it a folder of the user's. */
export function localFiles({ file, variants: [variant] }: ModelSource): readonly string[] {
  const [first, ...others] = variant?.files ?? [];
  if (file === undefined || first === undefined) return [];
  const folder = resolve(file, relative(first, '.'));
  return [file, ...others.map((other) => resolve(folder, other))];
}

const isRepo = (repo: string): boolean => repo.split('/').length === 2 && isPath(repo) && /^[\w./-]+$/.test(repo);

// What would be another file, another folder or another device on some system: all but plain names.
const isPath = (path: string): boolean =>
  !isAbsolute(path) && path.split('/').every((partialFile) => /^(?!\.{1,2}$)[^\\:*?"<>|\p{Cc}]+$/u.test(partialFile));
