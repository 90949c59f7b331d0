import { didYouMean } from '../../../base/didYouMean.ts';
import { escapePointerToken } from '../../../base/jsonPointer.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import type { ReadResult, SchemaError } from '../../../protocol/schema.ts';

/** A value in the metadata of an entry. */
export type MetadataValue = string | number | boolean | readonly string[];

/** One entry of a KNOWLEDGE storage. */
export interface KnowledgeEntry {
  /** Unique in the storage. */
  readonly id: string;
  readonly text: string;
  readonly metadata: Readonly<Record<string, MetadataValue>>;
  /** Words whose appearance in a query brings the entry, whatever its score. */
  readonly keys: readonly string[];
  /** Whether every search brings it. */
  readonly always: boolean;
}

/** Types that a field of the metadata can have. */
export const fieldTypes = ['int', 'float', 'string', 'bool', 'set<string>'] as const;

/** A field that the metadata of the entries may have. */
export interface KnowledgeField {
  readonly name: string;
  readonly type: (typeof fieldTypes)[number];
  /** What entries without the field have. */
  readonly default?: MetadataValue;
}

/** What a KNOWLEDGE storage has beyond its texts. */
export interface Knowledge {
  /** In the order of the file or the request. */
  readonly entries: readonly KnowledgeEntry[];
  /** undefined: the metadata may have any field. */
  readonly fields: readonly KnowledgeField[] | undefined;
  /** The model of its vectors, unless a node names another one. */
  readonly embeddingModel: string | undefined;
  /** Bytes of the file, or of the strings of the request. */
  readonly bytes: number;
}

/** What the KNOWLEDGE storages of a session may hold. */
export interface KnowledgeLimits {
  /** Max entries of one storage. */
  readonly entries: number;
  /** Max bytes of all storages of the session together. */
  readonly bytes: number;
}

/** Max entries of one storage that every search brings. */
export const maxAlways = 16;

const maxFields = 256;
const members = ['name', 'type', 'default'];

/** Reads the `fields` of a knowledge file. Errors have the pointer `/index`. */
export function readFields(value: unknown): ReadResult<readonly KnowledgeField[]> {
  if (!Array.isArray(value)) return failed('', 'must be a list of {"name", "type", "default"?}');
  if (value.length > maxFields) return failed('', `has ${value.length} fields, and ${maxFields} are allowed`);
  const fields: KnowledgeField[] = [];
  for (const [index, field] of value.entries()) {
    const error = findFieldError(field, fields);
    if (error) return failed(`/${index}${error.pointer}`, error.message);
    fields.push(field as KnowledgeField);
  }
  return { ok: true, value: fields };
}

function findFieldError(field: unknown, others: readonly KnowledgeField[]): SchemaError | undefined {
  if (!isObject(field)) return { pointer: '', message: 'must be {"name", "type", "default"?}' };
  const unknown = Object.keys(field).find((name) => !members.includes(name));
  if (unknown !== undefined)
    return { pointer: escapePointerToken(unknown), message: `is not known here${didYouMean(unknown, members)}` };
  const { name, type, default: value } = field;
  if (typeof name !== 'string' || name === '') return { pointer: '/name', message: 'must be a string, not empty' };
  if (name === '__proto__') return { pointer: '/name', message: 'cannot be "__proto__"; choose another name' };
  if (others.some((other) => other.name === name))
    return { pointer: '/name', message: `is "${name}", as that of another field; remove one` };
  if (!isFieldType(type))
    return {
      pointer: '/type',
      message: `must be one of ${fieldTypes.join(', ')}${didYouMean(String(type), fieldTypes)}`,
    };
  if (value === undefined || hasFieldType(value, type)) return undefined;
  return { pointer: '/default', message: `must be ${described[type]}` };
}

/** Reads the `metadata` of an entry. Errors have the pointer `/name`. */
export function readMetadata(value: unknown): ReadResult<Readonly<Record<string, MetadataValue>>> {
  if (value === undefined) return { ok: true, value: {} };
  if (!isObject(value)) return failed('', 'must be an object');
  for (const [name, held] of Object.entries(value)) {
    const pointer = escapePointerToken(name);
    if (name === '__proto__') return failed(pointer, 'cannot be the name of a field; choose another name');
    if (!isMetadataValue(held))
      return failed(pointer, 'must be a string, a number, true, false, or a list of strings; leave out what is empty');
  }
  return { ok: true, value: value as Readonly<Record<string, MetadataValue>> };
}

/** The first error of metadata against the declared fields; its pointer is `/name`. */
export function findMetadataError(
  metadata: Readonly<Record<string, MetadataValue>>,
  fields: ReadonlyMap<string, KnowledgeField>,
): SchemaError | undefined {
  for (const [name, value] of Object.entries(metadata)) {
    const field = fields.get(name);
    const pointer = escapePointerToken(name);
    if (!field)
      return { pointer, message: `is not among the fields${didYouMean(name, fields.keys()) || '; declare it there'}` };
    if (!hasFieldType(value, field.type)) return { pointer, message: `must be ${described[field.type]}` };
  }
  return undefined;
}

const described: Readonly<Record<KnowledgeField['type'], string>> = {
  int: 'an integer',
  float: 'a number',
  string: 'a string',
  bool: 'true or false',
  'set<string>': 'a list of strings',
};

const isFieldType = (type: unknown): type is KnowledgeField['type'] =>
  (fieldTypes as readonly unknown[]).includes(type);

function hasFieldType(value: unknown, type: KnowledgeField['type']): boolean {
  switch (type) {
    case 'int':
      return Number.isSafeInteger(value);
    case 'float':
      return Number.isFinite(value);
    case 'string':
      return typeof value === 'string';
    case 'bool':
      return typeof value === 'boolean';
    case 'set<string>':
      return isStringList(value);
    default:
      return type satisfies never;
  }
}

/** Whether a value is a list of strings. */
export const isStringList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const isMetadataValue = (value: unknown): value is MetadataValue =>
  typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value) || isStringList(value);

const failed = (pointer: string, message: string): ReadResult<never> => ({ ok: false, errors: [{ pointer, message }] });
