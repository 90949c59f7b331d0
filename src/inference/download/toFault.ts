import { resolve, sep } from 'node:path';
import { Fault } from '../../protocol/fault.ts';
import { describeFsError } from '../../base/filesystem.ts';

/**
 * Converts what ended a download to a Fault: an abort to DOWNLOAD_CANCELLED, a full disk to INSUFFICIENT_DISK_SPACE, another
 * error of the file system to DOWNLOAD_FAILED with its path.
 * @param folder the models folder.
 */
export function toDownloadFault(thrown: unknown, folder: string): Fault {
  if (thrown instanceof Fault) return thrown;
  const { name, code, path } = Object(thrown) as Readonly<Record<string, unknown>>;
  if (name === 'AbortError') return new Fault('DOWNLOAD_CANCELLED', 'it was cancelled', { cause: thrown });
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Fault('INSUFFICIENT_DISK_SPACE', `the disk of ${folder} is full; what came so far is kept`, {
      cause: thrown,
    });
  if (typeof code !== 'string') return Fault.from(thrown);
  const failedPath = typeof path === 'string' ? path : folder;
  // Another models folder does not help with a file elsewhere, for example one of the user's own that is only read.
  const hint =
    isWithin(failedPath, folder) || isWithin(folder, failedPath) ? '; choose another folder with --models' : '';
  return new Fault('DOWNLOAD_FAILED', `${failedPath} cannot be written or read: ${describeFsError(thrown)}${hint}`, {
    cause: thrown,
  });
}

const isWithin = (path: string, folder: string): boolean =>
  withSeparator(resolve(path)).startsWith(withSeparator(resolve(folder)));

const withSeparator = (folder: string): string => (folder.endsWith(sep) ? folder : `${folder}${sep}`);
