import { didYouMean } from '../../../base/didYouMean.ts';
import { escapePointerToken } from '../../../base/jsonPointer.ts';
import { isObject } from '../../../base/jsonTypes.ts';
import { memoized } from '../../../base/memoized.ts';
import { errorsBelow, invalid, type ReadResult } from '../../../protocol/schema.ts';

export type MetadataValue = string | number | boolean | readonly string[];

export interface KnowledgeEntry {
  /** Unique in the storage. */
  readonly id: string;
  readonly text: string;
  readonly metadata: Readonly<Record<string, MetadataValue>>;
  /** Words, texts with symbols, or `/patterns/`, whose appearance in a query brings the entry, whatever its score. */
  readonly keys: readonly string[];
  /** Whether every search brings it. */
  readonly always: boolean;
  /** Whether words of its text do not bring it, as in a lorebook; default false. */
  readonly keysOnly?: boolean;
  /** What a lorebook says beyond that; absent: nothing. */
  readonly rules?: LoreRules;
}

/** Which secondary keys must be in a query with a key, at the index that SillyTavern has as its number. */
export const logics = ['and any', 'not all', 'not any', 'and all'] as const;

/** When an entry of a lorebook comes. */
export interface LoreRules {
  readonly secondary: readonly string[];
  readonly logic: (typeof logics)[number];
  readonly isCaseSensitive: boolean;
  /** Whether its keys also match parts of words. */
  readonly partsOfWords: boolean;
  /** In percent. */
  readonly probability: number;
  /** Of several entries, those with a higher one come first. */
  readonly order: number;
  /** So many messages are searched for its keys, the newest first; undefined: as many as for all entries. */
  readonly depth: number | undefined;
  /** Whether ` & ` in a key joins texts that must all be there. */
  readonly joinsKeys: boolean;
}

/** What an entry has that no lorebook says more of. */
export const defaultRules: LoreRules = {
  logic: 'and any',
  isCaseSensitive: false,
  partsOfWords: false,
  probability: 100,
  order: 100,
  depth: undefined,
  secondary: [],
  joinsKeys: false,
};

/** Whether so many matches of the secondary keys let an entry come. */
export function secondaryLogic({ secondary, logic }: LoreRules, matches: number): boolean {
  if (secondary.length === 0) return true;
  if (logic === 'and any') return matches > 0;
  if (logic === 'and all') return matches === secondary.length;
  return logic === 'not any' ? matches === 0 : matches < secondary.length;
}

/** Whether a key is more than spaces, marks and invisible characters, which are not compared. */
export const canMatch = (key: string): boolean => /[^\s\p{M}\p{Cf}]/u.test(key);

/** What a filter compares the values of a field by. */
export type ScalarType = 'string' | 'number' | 'boolean';

interface FieldFacts {
  readonly described: string;
  readonly holds: (value: unknown) => boolean;
  /** The type of its values, or of those in its sets. */
  readonly scalar: ScalarType;
}

export const fieldTypes = {
  int: { described: 'an integer', holds: Number.isSafeInteger, scalar: 'number' },
  float: { described: 'a number', holds: Number.isFinite, scalar: 'number' },
  string: { described: 'a string', holds: (value) => typeof value === 'string', scalar: 'string' },
  bool: { described: 'true or false', holds: (value) => typeof value === 'boolean', scalar: 'boolean' },
  'set<string>': { described: 'a list of strings', holds: (value) => isStringList(value), scalar: 'string' },
} as const satisfies Readonly<Record<string, FieldFacts>>;

export type FieldType = keyof typeof fieldTypes;

export interface KnowledgeField {
  readonly name: string;
  readonly type: FieldType;
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
  /** About so many tokens of its entries come with every search; undefined: the default. */
  readonly alwaysTokens?: number | undefined;
  /** Bytes of the file, or of the strings of the request. */
  readonly bytes: number;
  /** What of it is not used, and why. */
  readonly warnings?: readonly string[];
}

export interface KnowledgeLimits {
  /** Max entries of one storage. */
  readonly entries: number;
  /** Max bytes of all storages of the session together. */
  readonly bytes: number;
}

// The same for the same entry: the index of a storage that grows tells by the object whether it has an entry.
const withoutAlways = memoized((entry: KnowledgeEntry): KnowledgeEntry => ({ ...entry, always: false }));

/** About so many tokens of the entries of one storage come with every search, unless it says another number. */
const defaultAlwaysTokens = 2048;
const bytesPerToken = 4;
const maxNamed = 3;

/** Leaves out `always` of the entries that are too long together, the last ones in the order of a lorebook. */
export function limitAlways(
  entries: readonly KnowledgeEntry[],
  tokens = defaultAlwaysTokens,
): Pick<Knowledge, 'entries'> & { readonly warnings: readonly string[] } {
  const always = entries.filter((entry) => entry.always);
  const orderOf = ({ rules = defaultRules }: KnowledgeEntry): number => rules.order;
  const left = new Set<KnowledgeEntry>();
  let sum = 0;
  for (const entry of always.toSorted((a, b) => orderOf(b) - orderOf(a))) {
    const cost = Math.ceil(Buffer.byteLength(entry.text) / bytesPerToken);
    if (sum + cost > tokens) left.add(entry);
    else sum += cost;
  }
  if (left.size === 0) return { entries, warnings: [] };
  const names = [...left].slice(0, maxNamed).map(({ id }) => `"${id}"`);
  const more = left.size > maxNamed ? ` and ${left.size - maxNamed} more` : '';
  const warning = `${always.length} entries have always (in a lorebook: constant), and only about ${tokens} tokens come with every search: ${names.join(', ')}${more} come only as other entries do; shorten them, or set "always_tokens" (in a lorebook: "token_budget")`;
  return {
    entries: entries.map((entry) => (left.has(entry) ? withoutAlways(entry) : entry)),
    warnings: [warning],
  };
}

const maxFields = 256;
const members = ['name', 'type', 'default'];

/** Reads the `fields` of a knowledge file. Errors have the pointer `/index`. */
export function readFields(value: unknown): ReadResult<readonly KnowledgeField[]> {
  if (!Array.isArray(value)) return invalid('', 'must be a list of {"name", "type", "default"?}');
  if (value.length > maxFields) return invalid('', `has ${value.length} fields, and ${maxFields} are allowed`);
  const fields: KnowledgeField[] = [];
  for (const [index, field] of value.entries()) {
    const reading = readField(field, fields);
    if (!reading.ok) return { ok: false, errors: errorsBelow(`/${index}`, reading.errors) };
    fields.push(reading.value);
  }
  return { ok: true, value: fields };
}

function readField(field: unknown, others: readonly KnowledgeField[]): ReadResult<KnowledgeField> {
  if (!isObject(field)) return invalid('', 'must be {"name", "type", "default"?}');
  const unknown = Object.keys(field).find((name) => !members.includes(name));
  if (unknown !== undefined)
    return invalid(escapePointerToken(unknown), `is not known here${didYouMean(unknown, members)}`);
  const { name, type, default: value } = field;
  if (typeof name !== 'string' || name === '') return invalid('/name', 'must be a string that is not empty');
  if (name === '__proto__') return invalid('/name', 'cannot be "__proto__"; choose another name');
  if (others.some((other) => other.name === name))
    return invalid('/name', `is "${name}", as that of another field; remove one`);
  if (!isFieldType(type))
    return invalid('/type', `must be one of ${typeNames.join(', ')}${didYouMean(String(type), typeNames)}`);
  const { described, holds } = fieldTypes[type];
  if (value !== undefined && !holds(value)) return invalid('/default', `must be ${described}`);
  return { ok: true, value: field as object as KnowledgeField };
}

/** Reads the `metadata` of an entry. Errors have the pointer `/metadata/name`. */
export function readMetadata(value: unknown): ReadResult<Readonly<Record<string, MetadataValue>>> {
  if (!isObject(value)) return invalid('/metadata', 'must be an object');
  for (const [name, held] of Object.entries(value)) {
    const pointer = `/metadata${escapePointerToken(name)}`;
    if (name === '__proto__') return invalid(pointer, 'cannot be the name of a field; choose another name');
    if (!isMetadataValue(held))
      return invalid(pointer, 'must be a string, a number, true, false, or a list of strings; leave out what is empty');
  }
  return { ok: true, value: value as Readonly<Record<string, MetadataValue>> };
}

/**
 * Checks the metadata of entries against the declared fields, and fills in the defaults. Errors have the pointer
 * `/metadata/name`.
 */
export function fieldsReader(fields: Knowledge['fields']): (entry: KnowledgeEntry) => ReadResult<KnowledgeEntry> {
  if (!fields) return (entry) => ({ ok: true, value: entry });
  const byName = new Map(fields.map((field) => [field.name, field]));
  const defaults = Object.fromEntries(
    fields.flatMap(({ name, default: value }) => (value === undefined ? [] : [[name, value]])),
  );
  return (entry) => {
    for (const [name, value] of Object.entries(entry.metadata)) {
      const field = byName.get(name);
      const pointer = `/metadata${escapePointerToken(name)}`;
      if (!field)
        return invalid(pointer, `is not among the fields${didYouMean(name, byName.keys()) || '; declare it there'}`);
      const { described, holds } = fieldTypes[field.type];
      if (!holds(value)) return invalid(pointer, `must be ${described}`);
    }
    return { ok: true, value: { ...entry, metadata: { ...defaults, ...entry.metadata } } };
  };
}

const typeNames = Object.keys(fieldTypes);

const isFieldType = (type: unknown): type is FieldType => typeNames.some((name) => name === type);

export const isStringList = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const isMetadataValue = (value: unknown): value is MetadataValue =>
  typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value) || isStringList(value);
