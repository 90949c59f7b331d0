import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { isObject } from '../../jsonTypes.ts';
import { FileWatcher } from '../../models/catalogue/fileWatcher.ts';
import { recordingName } from './casesFile.ts';

/** The texts of files by path; undefined: there is no such file. */
export type FileTexts = ReadonlyMap<string, string | undefined>;

/** Where the files are that cases files name. */
export interface WatchSettings {
  /** The graphs folder. */
  readonly graphs: string;
  /** `--mock-script`: instead of the recording of each file; "" = none. */
  readonly mockScript: string;
}

/** The texts of cases files, and of all files that they may name: they may have errors, or not be there yet. */
export async function readWatchedFiles(cases: readonly string[], settings: WatchSettings): Promise<FileTexts> {
  const texts = new Map<string, string | undefined>();
  for (const path of cases) {
    const text = await readText(path);
    texts.set(path, text);
    for (const other of namedIn(path, text ?? '', settings)) texts.set(other, await readText(other));
  }
  return texts;
}

function namedIn(path: string, text: string, { graphs, mockScript }: WatchSettings): readonly string[] {
  const folder = dirname(path);
  const { graph, recording = recordingName(path) } = parse(text);
  const paths = [
    ...(typeof graph === 'string' ? [resolve(folder, graph), join(graphs, `${graph}.json`)] : []),
    ...(mockScript === '' ? (typeof recording === 'string' ? [join(folder, recording)] : []) : [mockScript]),
  ];
  // A folder that is not there cannot be watched.
  return paths.filter((named) => existsSync(dirname(named)));
}

function parse(text: string): Readonly<Record<string, unknown>> {
  try {
    const document: unknown = JSON.parse(text);
    return isObject(document) ? document : {};
  } catch {
    return {};
  }
}

const readText = (path: string): Promise<string | undefined> => readFile(path, 'utf8').catch(() => undefined);

/**
 * Waits until a file has another text than it had. Returns its path; undefined when the signal is aborted.
 * @param onFailure told why a file cannot be watched; it is read every few seconds then.
 */
export async function untilChanged(
  texts: FileTexts,
  signal: AbortSignal,
  onFailure: (reason: string) => void,
): Promise<string | undefined> {
  const watchers: FileWatcher[] = [];
  // The watches of files do not keep the process alive.
  const keepAlive = setInterval(() => undefined, 2 ** 30);
  try {
    return await new Promise((done) => {
      signal.addEventListener('abort', () => done(undefined), { once: true });
      if (signal.aborted) done(undefined);
      for (const [path, text] of texts) {
        const onChange = async (): Promise<{ readonly retry: boolean }> => {
          if ((await readText(path)) !== text) done(path);
          return { retry: false };
        };
        watchers.push(new FileWatcher({ path, onChange, onFailure }));
      }
    });
  } finally {
    clearInterval(keepAlive);
    await Promise.all(watchers.map((watcher) => watcher[Symbol.asyncDispose]()));
  }
}
