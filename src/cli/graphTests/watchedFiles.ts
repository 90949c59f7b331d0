import { existsSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { referencesOf } from '../../graph/compile/document.ts';
import { readRegularFile } from '../../base/filesystem.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { FileWatcher } from '../../inference/models/catalogue/fileWatcher.ts';
import { tryParseJson } from '../jsonFile.ts';
import { recordingName } from './casesFile.ts';

/** The texts of files by path; undefined: there is no such file. */
export type FileTexts = ReadonlyMap<string, string | undefined>;

/** Where the files are that cases files name. */
export interface WatchSettings {
  /** The graphs folder. */
  readonly graphs: string;
  /** `--mock-script`: instead of the recording of each file; "" = none. */
  readonly mockScript: string;
  /** `--storage-root`; "" = the folder of each graph. */
  readonly storageRoot: string;
}

/** The texts of cases files, and of all files that they may name: they may have errors, or not be there yet. */
export async function readWatchedFiles(cases: readonly string[], settings: WatchSettings): Promise<FileTexts> {
  const texts = new Map<string, string | undefined>();
  const add = async (path: string): Promise<string | undefined> => {
    const text = await readText(path);
    // A folder that is not there cannot be watched.
    if (text !== undefined || existsSync(dirname(path))) texts.set(path, text);
    return text;
  };
  for (const path of cases) {
    const { graph, recording } = namedIn(path, await add(path), settings);
    await add(recording);
    for (const graphPath of graph)
      for (const storage of storagesIn(graphPath, await add(graphPath), settings)) await add(storage);
  }
  return texts;
}

function namedIn(path: string, text: string | undefined, { graphs, mockScript }: WatchSettings) {
  const { graph, recording } = parse(text);
  const at = (name: string): string => (isAbsolute(name) ? name : join(dirname(path), name));
  return {
    graph: typeof graph === 'string' ? [at(graph), join(graphs, `${graph}.json`)] : [],
    recording: mockScript || join(dirname(path), typeof recording === 'string' ? recording : recordingName(path)),
  };
}

/** The files of strings that the nodes of a graph may name. */
function storagesIn(path: string, text: string | undefined, { storageRoot }: WatchSettings): readonly string[] {
  return referencesOf(parse(text)).storages.map((name) => join(storageRoot || dirname(path), name));
}

function parse(text = ''): Readonly<Record<string, unknown>> {
  const document = tryParseJson(text);
  return isObject(document) ? document : {};
}

const readText = (path: string): Promise<string | undefined> =>
  readRegularFile(path).then(
    (bytes) => bytes.toString(),
    () => undefined,
  );

/** Writing a file takes less, in milliseconds. */
const settleMs = 100;

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
          if ((await readText(path)) === text) return { retry: false };
          // Read while it was written, it is empty for a moment.
          await wait(settleMs);
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
