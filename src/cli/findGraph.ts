import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, isAbsolute, join, parse } from 'node:path';
import { didYouMean } from '../base/didYouMean.ts';
import { describeError, Fault } from '../protocol/fault.ts';
import { createReader, type SchemaError } from '../protocol/schema.ts';
import { describeGraphPointer, graphSchema, type GraphDocument } from '../graph/compile/document.ts';
import { GraphFolder } from '../graph/compile/graphFolder.ts';
import { findDuplicateKeys, locateInJson, readJson } from '../base/jsonLocations.ts';
import { readTextFile } from '../base/filesystem.ts';

/** The text of a JSON file, such as a graph, with the positions of its values for messages. */
export interface JsonFile {
  readonly path: string;
  readonly text: string;
  /** `file:line:column` of the value that a JSON pointer names, or of its nearest existing parent. */
  positionOf(pointer: string): string;
  /** The first syntax error or duplicate key, with its position; undefined when the text is valid JSON. */
  readonly syntaxError: string | undefined;
}

/** Reads a JSON file. @param read `readRegularFile` for a file that another one names. @throws Error that names it. */
export async function readJsonFile(path: string, read?: (path: string) => Promise<Uint8Array>): Promise<JsonFile> {
  const text = await readTextFile(path, read);
  const locations = locateInJson(text);
  return {
    path,
    text,
    positionOf: (pointer) => `${path}:${locations.positionOf(pointer)}`,
    syntaxError: describeSyntaxError(path, text),
  };
}

/** Reads a JSON file as `readJsonFile`. @throws Error also with the position of its first syntax error. */
export async function readValidJson(path: string): Promise<JsonFile> {
  const file = await readJsonFile(path);
  if (file.syntaxError !== undefined) throw new Error(file.syntaxError);
  return file;
}

/** Mistakes in a JSON file, a line each with its place. */
export const describeMistakes = (
  { positionOf }: JsonFile,
  errors: readonly SchemaError[],
  sentenceOf = ({ message }: SchemaError): string => message,
): string => errors.map((error) => `${positionOf(error.pointer)}: ${sentenceOf(error)}`).join('\n');

function describeSyntaxError(path: string, text: string): string | undefined {
  const { error } = readJson(text);
  if (error) return `${path}:${error.place}: is not valid JSON: ${error.why}`;
  const [duplicate] = findDuplicateKeys(text);
  return duplicate && `${path}:${duplicate.place}: the key "${duplicate.name}" occurs twice in one object`;
}

/**
 * A file, else a name in the graphs folder: `isName`, as clients name it.
 * @param folder of relative paths.
 * @throws Fault with what was sought.
 */
export async function findGraph(nameOrPath: string, graphs: string, folder = '') {
  const path = folder === '' || isAbsolute(nameOrPath) ? nameOrPath : join(folder, nameOrPath);
  if (isFile(path)) return { path, isName: false };
  const files = await new GraphFolder(graphs).files();
  const named = files.get(nameOrPath);
  if (named !== undefined) return { path: named, isName: true };
  if (isFolder(path)) throw new Fault('GRAPH_COMPILATION_FAILED', `${path} cannot be read: it is a folder`);
  throw new Fault(
    'GRAPH_COMPILATION_FAILED',
    `${path} cannot be read: there is no such file, and no such graph in the folder ${graphs}${hintFor(nameOrPath, path, [...files.keys()])}`,
  );
}

/** Finds a graph as `findGraph`; where there is none, what was named and why. */
export const tryFindGraph = (
  nameOrPath: string,
  graphs: string,
): Promise<{ path: string; isName?: boolean; error?: string }> =>
  findGraph(nameOrPath, graphs).catch((error: unknown) => ({ path: nameOrPath, error: describeError(error) }));

/** Reads a file that has the form of a graph; its nodes are not checked. @throws Error with the place of each mistake. */
export async function readGraph(path: string): Promise<GraphDocument> {
  const file = await readValidJson(path);
  const reading = createReader(graphSchema)(JSON.parse(file.text));
  if (reading.ok) return reading.value;
  const sentenceOf = ({ pointer, message }: SchemaError): string => `${describeGraphPointer(pointer)} ${message}`;
  throw new Error(describeMistakes(file, reading.errors, sentenceOf));
}

function hintFor(nameOrPath: string, path: string, names: readonly string[]): string {
  if (isFile(`${path}.json`)) return `; did you mean "${nameOrPath}.json"?`;
  const hint = didYouMean(nameOrPath.replace(/\.json$/i, ''), names) || fileHintFor(path);
  return hint || (names.length > 0 ? `; there are ${names.join(', ')}` : '; it has none');
}

function fileHintFor(path: string): string {
  const [folder, sought] = [dirname(path), `${parse(path).name}.json`];
  const isLike = (name: string): boolean => /\.json$/i.test(name) && didYouMean(sought, [name]) !== '';
  const isGraph = (file: string): boolean => statSync(file).isFile() && readFileSync(file).includes('"start_node"');
  try {
    const files = readdirSync(folder).filter((name) => isLike(name) && isGraph(join(folder, name)));
    return didYouMean(sought, files);
  } catch {
    return '';
  }
}

/** Whether a path is something else than a folder. */
export const isFile = (path: string): boolean => isDirectory(path) === false;

export const isFolder = (path: string): boolean => isDirectory(path) === true;

function isDirectory(path: string): boolean | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory();
  } catch {
    // What the system cannot follow, such as links in a circle. Who reads it is told why.
    return false;
  }
}
