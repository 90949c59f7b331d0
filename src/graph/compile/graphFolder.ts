import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../protocol/fault.ts';
import { describeFsError, readRegularFile, decodeUtf8 } from '../../base/filesystem.ts';
import { parseUniqueJson } from '../../base/jsonLocations.ts';
import { didYouMean } from '../../base/didYouMean.ts';

const fileExtension = '.json';
// JSON Schemas, test cases and their recordings, and knowledge, which may be in the same folder.
const otherFiles = /\.(?:schema|cases|mock|kb)\.json$/i;

/** Folder of graph files (`--graphs`). Clients name a graph by its file name without `.json`. */
export class GraphFolder {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Names of the graphs; [] without a folder. @throws Fault GRAPH_COMPILATION_FAILED when it cannot be read. */
  async names(): Promise<readonly string[]> {
    return [...(await this.files()).keys()];
  }

  /** The paths of the graphs, by their names. @throws as `names`. */
  async files(): Promise<ReadonlyMap<string, string>> {
    const files = await readdir(this.#path).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT' || cause.code === 'ENOTDIR') return [];
      throw unreadable('the graphs folder', cause);
    });
    const graphs = files.filter((file) => file.toLowerCase().endsWith(fileExtension) && !otherFiles.test(file));
    return new Map(graphs.map((file) => [file.slice(0, -fileExtension.length), join(this.#path, file)]));
  }

  /** Reads a graph, not yet validated. @throws Fault GRAPH_COMPILATION_FAILED when there is none, or no valid JSON. */
  async read(name: string): Promise<unknown> {
    const files = await this.files();
    const file = files.get(name);
    // Path traversal check: only names that the folder lists are opened.
    if (file === undefined) {
      const names = [...files.keys()];
      const known = names.length > 0 ? `; there are ${names.join(', ')}` : '; it is empty';
      const hint = names.find((each) => each + fileExtension === name);
      const fix = hint === undefined ? didYouMean(name, names) || known : `; write "${hint}", without ${fileExtension}`;
      throw new Fault('GRAPH_COMPILATION_FAILED', `the graphs folder has no graph "${name}"${fix}`);
    }
    const bytes = await readRegularFile(file).catch((cause: unknown) => {
      throw unreadable(`graph "${name}"`, cause);
    });
    const text = decodeUtf8(bytes);
    if (text === undefined)
      throw new Fault('GRAPH_COMPILATION_FAILED', `graph "${name}" is not UTF-8; save it as UTF-8`);
    return parseGraph(text, `graph "${name}"`);
  }
}

const unreadable = (subject: string, cause: unknown): Fault =>
  new Fault('GRAPH_COMPILATION_FAILED', `${subject} cannot be read: ${describeFsError(cause)}`, { cause });

/** Parses a graph. @param subject of messages. @throws Fault GRAPH_COMPILATION_FAILED: no JSON, or a key twice. */
export const parseGraph = (text: string, subject: string): unknown =>
  parseUniqueJson(text, (problem, cause) => new Fault('GRAPH_COMPILATION_FAILED', `${subject} ${problem}`, { cause }));
