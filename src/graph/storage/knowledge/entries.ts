import { didYouMean } from '../../../base/didYouMean.ts';
import { describePointer, escapePointerToken } from '../../../base/jsonPointer.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import type { ReadResult, SchemaError } from '../../../protocol/schema.ts';
import {
  canMatch,
  failed,
  isStringList,
  type Knowledge,
  type KnowledgeEntry,
  limitAlways,
  readMetadata,
} from './knowledge.ts';
import { parseJson } from '../../../base/jsonLocations.ts';
import { invalidStorage } from '../invalidStorage.ts';
import { patternErrors } from '../patternSet.ts';

const maxIdLength = 256;

/**
 * Reads a record of a knowledge file. Errors have the pointer `/member`.
 * @param apart id and text that come apart from the rest.
 */
export function readRecord(value: unknown, apart?: { id: string; text: string }): ReadResult<KnowledgeEntry> {
  const described = [...(apart ? [] : ['"id"', '"text"']), '"metadata"?', '"keys"?', '"always"?'];
  if (!isObject(value)) return failed('', `must be an object {${described.join(', ')}}`);
  const names = described.map((name) => name.replaceAll(/["?]/g, ''));
  const unknown = Object.keys(value).find((name) => !names.includes(name));
  if (unknown !== undefined)
    return failed(escapePointerToken(unknown), `is not known here${didYouMean(unknown, names)}`);
  return readParts({ ...value, ...apart });
}

function readParts({ id, text, ...rest }: Readonly<Record<string, unknown>>): ReadResult<KnowledgeEntry> {
  if (id === undefined) return failed('/id', 'is missing');
  if (typeof id !== 'string' || id === '' || id.length > maxIdLength)
    return failed('/id', `must be a string of 1 to ${maxIdLength} characters`);
  if (text === undefined) return failed('/text', 'is missing');
  if (typeof text !== 'string' || text.trim() === '') return failed('/text', 'must be a string, not empty');
  const keys = rest['keys'] ?? [];
  const always = rest['always'] ?? false;
  if (!isStringList(keys) || !keys.every(canMatch))
    return failed('/keys', 'must be a list of strings, none of them empty');
  const errors = patternErrors(keys.map((key, index) => [key, `/keys/${index}`]));
  if (errors.length > 0) return { ok: false, errors };
  if (typeof always !== 'boolean') return failed('/always', 'must be true or false');
  const metadata = readMetadata(rest['metadata'] ?? {});
  return metadata.ok ? { ok: true, value: { id, text, metadata: metadata.value, keys, always } } : metadata;
}

/** The error of an entry whose id another one has; its pointer is relative to the entry. */
export const sameIdError = (id: string): SchemaError => ({
  pointer: '/id',
  message: `is "${id}", as that of an earlier entry; give it another one`,
});

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
  const ids = new Set<string>();
  const entries = strings.map((text, index): KnowledgeEntry => {
    const json = metadataJson[index] ?? '';
    const subject = `${name}: metadataJson[${index}]`;
    const value =
      json === '' ? {} : parseJson(json, (problem, cause) => invalidStorage(`${subject} ${problem}`, cause));
    const reading = readRecord(value, { id: keys[index] ?? '', text });
    if (reading.ok && ids.size < ids.add(reading.value.id).size) return reading.value;
    const error = reading.ok ? sameIdError(reading.value.id) : reading.errors[0];
    throw invalidStorage(`${name}: ${subjectOf(error?.pointer ?? '', index)} ${error?.message}`);
  });
  return { ...limitAlways(entries), fields: undefined, embeddingModel: undefined, bytes: 0 };
}

function subjectOf(pointer: string, index: number): string {
  if (pointer === '/id') return `keys[${index}]`;
  return pointer === '/text' ? `strings[${index}]` : `metadataJson[${index}]${describePointer(pointer)}`;
}
