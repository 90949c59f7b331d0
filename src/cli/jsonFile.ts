import { readFile } from 'node:fs/promises';
import { findSyntaxError, locateInJson, findDuplicateKeys } from '../base/jsonLocations.ts';
import { decodeUtf8, whyUnreadable } from '../base/filesystem.ts';
import { isObject } from '../base/jsonTypes.ts';
import type { SchemaError } from '../protocol/schema.ts';

/** The text of a JSON file, such as a graph, with the positions of its values for messages. */
export interface JsonFile {
  readonly path: string;
  readonly text: string;
  /** `file:line:column` of the value that a JSON pointer names, or of its nearest existing parent. */
  positionOf(pointer: string): string;
  /** Whether it is a JSON Schema instead of a graph, such as the graph.schema.json next to graph files. */
  readonly isSchema: boolean;
  /** The first syntax error or duplicate key, with its position; undefined when the text is valid JSON. */
  readonly syntaxError: string | undefined;
}

/** Reads a JSON file. @param read `readRegularFile` for a file that another one names. @throws Error that names it. */
export async function readJsonFile(
  path: string,
  read: (path: string) => Promise<Uint8Array> = readFile,
): Promise<JsonFile> {
  const bytes = await read(path).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${path} cannot be read: ${whyUnreadable(error)}`, { cause: error });
  });
  const text = decodeUtf8(bytes);
  if (text === undefined) throw new Error(`${path} is not UTF-8; save it as UTF-8`);
  const locations = locateInJson(text);
  const syntaxError = describeSyntaxError(path, text);
  return {
    path,
    text,
    isSchema: syntaxError === undefined && isSchema(JSON.parse(text)),
    positionOf: (pointer) => `${path}:${locations.positionOf(pointer)}`,
    syntaxError,
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
  const error = findSyntaxError(text);
  if (error) return `${path}:${error.place}: is not valid JSON: ${error.why}`;
  const [duplicate] = findDuplicateKeys(text);
  return duplicate && `${path}:${duplicate.place}: the key "${duplicate.name}" occurs twice in one object`;
}

const isSchema = (document: unknown): boolean =>
  isObject(document) && /json-schema\.org/.test(String(document['$schema']));
