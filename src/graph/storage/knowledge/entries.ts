import { didYouMean } from '../../../base/didYouMean.ts';
import { describePointer, escapePointerToken } from '../../../base/jsonPointer.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import type { ReadResult, SchemaError } from '../../../protocol/schema.ts';
import { canMatch, isStringList, type Knowledge, type KnowledgeEntry, limitAlways, readMetadata } from './knowledge.ts';
import { parseJson } from '../../../base/jsonLocations.ts';
import { Fault } from '../../../protocol/fault.ts';
import { invalidStorage } from '../invalidStorage.ts';
import { readPatternKey } from '../patternSet.ts';

const maxIdLength = 256;
const members = ['id', 'text', 'metadata', 'keys', 'always'];
const options = ['metadata', 'keys', 'always'];

/** Reads a record of a knowledge file. Errors have the pointer `/member`. */
export function readRecord(value: unknown): ReadResult<KnowledgeEntry> {
  if (!isObject(value)) return failed('', 'must be an object {"id", "text", "metadata"?, "keys"?, "always"?}');
  const unknown = Object.keys(value).find((name) => !members.includes(name));
  if (unknown !== undefined)
    return failed(escapePointerToken(unknown), `is not known here${didYouMean(unknown, members)}`);
  return readParts(value['id'], value['text'], value);
}

/** Reads an entry whose id and text come apart from the rest, an object of JSON or nothing. */
function readOptions(id: string, text: string, value: unknown): ReadResult<KnowledgeEntry> {
  if (!isObject(value)) return failed('', 'must be an object {"metadata"?, "keys"?, "always"?}');
  const unknown = Object.keys(value).find((name) => !options.includes(name));
  if (unknown !== undefined)
    return failed(escapePointerToken(unknown), `is not known here${didYouMean(unknown, options)}`);
  return readParts(id, text, value);
}

function readParts(id: unknown, text: unknown, rest: Readonly<Record<string, unknown>>): ReadResult<KnowledgeEntry> {
  if (id === undefined) return failed('/id', 'is missing');
  if (typeof id !== 'string' || id === '' || id.length > maxIdLength)
    return failed('/id', `must be a string of 1 to ${maxIdLength} characters`);
  if (text === undefined) return failed('/text', 'is missing');
  if (typeof text !== 'string' || text.trim() === '') return failed('/text', 'must be a string, not empty');
  const keys = rest['keys'] ?? [];
  const always = rest['always'] ?? false;
  if (!isStringList(keys) || !keys.every(canMatch))
    return failed('/keys', 'must be a list of strings, none of them empty');
  for (const [index, key] of keys.entries()) {
    const pattern = readPatternKey(key);
    if (!pattern.ok) return failed(`/keys/${index}`, pattern.errors[0]?.message ?? 'is invalid');
  }
  if (typeof always !== 'boolean') return failed('/always', 'must be true or false');
  const metadata = readMetadata(rest['metadata'] ?? {});
  if (metadata.ok) return { ok: true, value: { id, text, metadata: metadata.value, keys, always } };
  return {
    ok: false,
    errors: metadata.errors.map((error) => ({ ...error, pointer: `/metadata${error.pointer}` })),
  };
}

const failed = (pointer: string, message: string): ReadResult<never> => ({ ok: false, errors: [{ pointer, message }] });

/** Finds ids that several entries of one storage have. */
export class EntryChecker {
  readonly #ids = new Set<string>();

  /** The error of the next entry; its pointer is relative to the entry. */
  findError({ id }: KnowledgeEntry): SchemaError | undefined {
    if (this.#ids.has(id))
      return { pointer: '/id', message: `is "${id}", as that of an earlier entry; give it another one` };
    this.#ids.add(id);
    return undefined;
  }
}

/** The lists of a request that creates a KNOWLEDGE storage. */
interface KnowledgeLists {
  readonly strings: readonly string[];
  readonly keys: readonly string[];
  /** One `{"metadata"?, "keys"?, "always"?}` per string, "" = nothing; [] = nothing for all. */
  readonly metadataJson: readonly string[];
}

/**
 * Creates the knowledge of a request.
 * @param name its name in messages.
 * @throws Fault INVALID_STRING_STORAGE_DATA with the index of the entry, LIMIT_EXCEEDED.
 */
export function knowledgeOfRequest({ strings, keys, metadataJson }: KnowledgeLists, name: string): Knowledge {
  if (keys.length !== strings.length)
    throw invalidStorage(
      `${name} has ${strings.length} strings and ${keys.length} keys; each string needs a key, its id`,
    );
  if (metadataJson.length > 0 && metadataJson.length !== strings.length)
    throw invalidStorage(
      `${name} has ${strings.length} strings and ${metadataJson.length} metadataJson; give one per string, or none at all`,
    );
  const checker = new EntryChecker();
  const entries = strings.map((text, index): KnowledgeEntry => {
    const json = metadataJson[index] ?? '';
    const subject = `${name}: metadataJson[${index}]`;
    const value =
      json === '' ? {} : parseJson(json, (problem, cause) => invalidStorage(`${subject} ${problem}`, cause));
    const reading = readOptions(keys[index] ?? '', text, value);
    const error = reading.ok ? checker.findError(reading.value) : reading.errors[0];
    if (reading.ok && !error) return reading.value;
    const { pointer = '', message = 'is invalid', code = 'INVALID_STRING_STORAGE_DATA' } = error ?? {};
    throw new Fault(code, `${name}: ${subjectOf(pointer, index)} ${message}`);
  });
  return { ...limitAlways(entries), fields: undefined, embeddingModel: undefined, bytes: 0 };
}

function subjectOf(pointer: string, index: number): string {
  if (pointer === '/id') return `keys[${index}]`;
  return pointer === '/text' ? `strings[${index}]` : `metadataJson[${index}]${describePointer(pointer)}`;
}
