import { readFile } from 'node:fs/promises';
import { findSyntaxError, locateInJson, findDuplicateKeys } from '../jsonLocations.ts';

/** The text of a graph file, and where in it things stand. */
export interface GraphFile {
  readonly path: string;
  readonly text: string;
  /** `file:line:column` of what a JSON pointer names, or of the nearest thing around it that is there. */
  at(pointer: string): string;
  /** Whether it is no graph, but the schema that lies beside graphs. */
  readonly isSchema: boolean;
  /** Where the text stops being JSON, and why; undefined when it is JSON. */
  readonly syntax: string | undefined;
}

/** Reads a graph file. @throws Error that names the file, when it cannot be read. */
export async function readGraphFile(path: string): Promise<GraphFile> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    const why = { ENOENT: 'there is no such file', EISDIR: 'it is a folder' }[error.code ?? ''] ?? error.message;
    throw new Error(`${path} cannot be read: ${why}`, { cause: error });
  });
  const places = locateInJson(text);
  const syntax = syntaxOf(path, text);
  return {
    path,
    text,
    isSchema: syntax === undefined && isSchema(JSON.parse(text)),
    at: (pointer) => `${path}:${places.positionOf(pointer)}`,
    syntax,
  };
}

function syntaxOf(path: string, text: string): string | undefined {
  const broken = findSyntaxError(text);
  if (broken) return `${path}:${broken.place}: is no JSON: ${broken.why}`;
  const [twice] = findDuplicateKeys(text);
  return twice && `${path}:${twice.place}: the name "${twice.name}" stands twice in one object`;
}

const isSchema = (document: unknown): boolean =>
  typeof document === 'object' &&
  document !== null &&
  '$schema' in document &&
  /json-schema\.org/.test(String(document.$schema));
