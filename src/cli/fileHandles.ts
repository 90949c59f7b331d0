import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * File handles that the commands need. Node reads modules in parallel: with fewer than about 150 an import fails, often as
 * "Cannot find package".
 */
export const minFileHandles = 192;

/** Whether this process may open `minFileHandles` more files. */
export function areFileHandlesFree(): boolean {
  const handles: number[] = [];
  try {
    while (handles.length < minFileHandles) handles.push(openSync(fileURLToPath(import.meta.url), 'r'));
    return true;
  } catch {
    return false;
  } finally {
    for (const handle of handles) closeSync(handle);
  }
}
