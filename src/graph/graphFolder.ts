import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault, describeError } from '../fault.ts';
import { findDuplicateKeys } from '../jsonLocations.ts';
import { didYouMean } from '../didYouMean.ts';

const fileExtension = '.json';
const schemaFile = 'graph.schema.json';

/** A folder of graphs that clients may name: its files without their ending. */
export class GraphFolder {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  async names(): Promise<readonly string[]> {
    const files = await readdir(this.#path).catch(() => []);
    return files
      .filter((file) => file.endsWith(fileExtension) && file !== schemaFile)
      .map((file) => file.slice(0, -fileExtension.length));
  }

  /**
   * The document of a graph, not yet checked.
   * @throws Fault GRAPH_COMPILATION_FAILED when there is none of the name, or it is no JSON.
   */
  async read(name: string): Promise<unknown> {
    const names = await this.names();
    // Only names that the folder lists are opened, so that a name cannot lead out of it.
    if (!names.includes(name)) {
      const hint = didYouMean(name, names) || (names.length > 0 ? `; there are ${names.join(', ')}` : '; it is empty');
      throw new Fault('GRAPH_COMPILATION_FAILED', `the graphs folder has no graph "${name}"${hint}`);
    }
    return parseGraph(await readFile(join(this.#path, name + fileExtension), 'utf8'), `graph "${name}"`);
  }
}

/** The document in a graph's text. @throws Fault GRAPH_COMPILATION_FAILED when it is no JSON, or has a name twice; `what` begins its sentence. */
export function parseGraph(text: string, what: string): unknown {
  const document = parsed(text, what);
  const [twice] = findDuplicateKeys(text);
  if (twice === undefined) return document;
  throw new Fault(
    'GRAPH_COMPILATION_FAILED',
    `${what} has the name "${twice.name}" twice in one object (line ${twice.line})`,
  );
}

function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const reason = describeError(error);
    throw new Fault('GRAPH_COMPILATION_FAILED', `${what} is no JSON: ${reason}`, { cause: error });
  }
}
