import { describePointer } from '../../../base/jsonPointer.ts';
import { parseJson } from '../../../base/jsonLocations.ts';
import { Fault } from '../../../protocol/fault.ts';
import { invalidStorage } from '../invalidStorage.ts';
import type { Knowledge, KnowledgeEntry } from './knowledge.ts';
import { EntryChecker } from './knowledgeFile.ts';
import { readOptions } from './readEntry.ts';

/** The lists of a request that creates a KNOWLEDGE storage. */
export interface KnowledgeLists {
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
  const bytes = [...strings, ...keys, ...metadataJson].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return { entries, fields: undefined, embeddingModel: undefined, bytes };
}

function subjectOf(pointer: string, index: number): string {
  if (pointer === '/id') return `keys[${index}]`;
  return pointer === '/text' ? `strings[${index}]` : `metadataJson[${index}]${describePointer(pointer)}`;
}
