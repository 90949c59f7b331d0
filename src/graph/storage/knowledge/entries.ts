import { didYouMean } from '../../../base/didYouMean.ts';
import { describePointer, escapePointerToken } from '../../../base/jsonPointer.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import type { ReadResult, SchemaError } from '../../../protocol/schema.ts';
import { isStringList, type Knowledge, type KnowledgeEntry, maxAlways, readMetadata } from './knowledge.ts';
import { parseJson } from '../../../base/jsonLocations.ts';
import { Fault } from '../../../protocol/fault.ts';
import { invalidStorage } from '../invalidStorage.ts';

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

/**
 * Reads an entry of a SillyTavern lorebook, or of the book in a character card, which has `id`, `keys`, `enabled` and `name`
 * instead of `uid`, `key`, `disable` and `comment`; undefined for one that is disabled or has no content.
 * @param key its name or index in `entries`, which is its id if it has none of its own.
 */
export function readLorebookEntry(value: unknown, key: string): ReadResult<KnowledgeEntry | undefined> {
  if (!isObject(value)) return failed('', 'must be an object {"key", "content", ...}');
  const given = (name: string, otherName: string): string => (Object.hasOwn(value, name) ? name : otherName);
  const [idName, keysName, titleName] = [given('uid', 'id'), given('key', 'keys'), given('comment', 'name')];
  const { [idName]: uid = key, [keysName]: keys = [], [titleName]: comment = '' } = value;
  const { content, constant = false, disable = false, enabled = true } = value;
  if (typeof uid !== 'string' && !Number.isSafeInteger(uid))
    return failed(`/${idName}`, 'must be an integer or a string');
  if (content === undefined && value['text'] !== undefined)
    return failed('/text', 'belongs to a record; name the list "records"');
  if (typeof content !== 'string') return failed('/content', 'must be a string');
  if (!isStringList(keys)) return failed(`/${keysName}`, 'must be a list of strings');
  if (typeof constant !== 'boolean') return failed('/constant', 'must be true or false');
  if (typeof disable !== 'boolean') return failed('/disable', 'must be true or false');
  if (typeof enabled !== 'boolean') return failed('/enabled', 'must be true or false');
  if (typeof comment !== 'string') return failed(`/${titleName}`, 'must be a string');
  if (disable || !enabled || content.trim() === '') return { ok: true, value: undefined };
  return readParts(String(uid), content, {
    metadata: comment === '' ? {} : { comment },
    keys: keys.map((word) => word.trim()).filter((word) => word !== ''),
    always: constant,
  });
}

function readParts(id: unknown, text: unknown, rest: Readonly<Record<string, unknown>>): ReadResult<KnowledgeEntry> {
  if (id === undefined) return failed('/id', 'is missing');
  if (typeof id !== 'string' || id === '' || id.length > maxIdLength)
    return failed('/id', `must be a string of 1 to ${maxIdLength} characters`);
  if (text === undefined) return failed('/text', 'is missing');
  if (typeof text !== 'string' || text.trim() === '') return failed('/text', 'must be a string, not empty');
  const { keys = [], always = false } = rest;
  if (!isStringList(keys) || keys.some((word) => word.trim() === ''))
    return failed('/keys', 'must be a list of strings, none of them empty');
  if (typeof always !== 'boolean') return failed('/always', 'must be true or false');
  const metadata = readMetadata(rest['metadata']);
  if (metadata.ok) return { ok: true, value: { id, text, metadata: metadata.value, keys, always } };
  return {
    ok: false,
    errors: metadata.errors.map((error) => ({ ...error, pointer: `/metadata${error.pointer}` })),
  };
}

const failed = (pointer: string, message: string): ReadResult<never> => ({ ok: false, errors: [{ pointer, message }] });

/** Finds what is wrong among the entries of one storage, entry by entry. */
export class EntryChecker {
  readonly #ids = new Set<string>();
  #always = 0;

  /** The error of the next entry; its pointer is relative to the entry. */
  findError({ id, always }: KnowledgeEntry): SchemaError | undefined {
    if (this.#ids.has(id))
      return { pointer: '/id', message: `is "${id}", as that of an earlier entry; give it another one` };
    this.#ids.add(id);
    if (always) this.#always++;
    if (this.#always <= maxAlways) return undefined;
    const message = `is one entry too many with always (in a lorebook: constant): ${maxAlways} are allowed`;
    return { pointer: '', message, code: 'LIMIT_EXCEEDED' };
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
  return { entries, fields: undefined, embeddingModel: undefined, bytes: 0 };
}

function subjectOf(pointer: string, index: number): string {
  if (pointer === '/id') return `keys[${index}]`;
  return pointer === '/text' ? `strings[${index}]` : `metadataJson[${index}]${describePointer(pointer)}`;
}
