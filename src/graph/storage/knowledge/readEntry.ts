import { didYouMean } from '../../../base/didYouMean.ts';
import { escapePointerToken } from '../../../base/jsonPointer.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import type { ReadResult } from '../../../protocol/schema.ts';
import { isStringList, readMetadata } from './fields.ts';
import type { KnowledgeEntry } from './knowledge.ts';

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
export function readOptions(id: string, text: string, value: unknown): ReadResult<KnowledgeEntry> {
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
