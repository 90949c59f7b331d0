import { resolve, sep } from 'node:path';
import { Fault } from '../fault.ts';
import { describeFsError } from '../filesystem.ts';

/** What ended a download, as a Fault: a full disk, a folder that may not be written, or what was thrown. */
export function toDownloadFault(thrown: unknown, folder: string): Fault {
  if (thrown instanceof Fault) return thrown;
  const { name, code, path } = Object(thrown) as Readonly<Record<string, unknown>>;
  if (name === 'AbortError') return new Fault('DOWNLOAD_CANCELLED', 'it was cancelled', { cause: thrown });
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Fault('INSUFFICIENT_DISK_SPACE', `the disk of ${folder} is full; what came so far is kept`, {
      cause: thrown,
    });
  if (typeof code !== 'string') return Fault.from(thrown);
  const where = typeof path === 'string' ? path : folder;
  // A file of the user's own, which is only read, gets no better in another folder.
  const mend = isWithin(where, folder) || isWithin(folder, where) ? '; choose another folder with --models' : '';
  return new Fault('DOWNLOAD_FAILED', `${where} cannot be written or read: ${describeFsError(thrown)}${mend}`, {
    cause: thrown,
  });
}

const isWithin = (path: string, folder: string): boolean =>
  `${resolve(path)}${sep}`.startsWith(withEnd(resolve(folder)));

const withEnd = (folder: string): string => (folder.endsWith(sep) ? folder : `${folder}${sep}`);
