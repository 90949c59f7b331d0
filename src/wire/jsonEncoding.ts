import { didYouMean } from '../didYouMean.ts';
import { malformed, type FieldEncoding } from './frameReader.ts';
import { byMessage, fieldsOf, type Fields, type MessageName } from './messageShape.ts';
import { isWellFormed, truncateForError, describeValue } from './wellFormed.ts';

/** The JSON encoding of frame fields, as JSON.parse returns them. */
export const jsonEncoding: FieldEncoding = {
  fields(name, value, path) {
    const members = object(value, path);
    const inValueForm = Object.entries(documentAliases[name] ?? {}).filter(([alias]) => isSet(members[alias]));
    if (inValueForm.length === 0) return members;
    const fields: Record<string, unknown> = { ...members };
    for (const [alias, field] of inValueForm) {
      if (isSet(members[field])) {
        throw malformed(`${path}.${alias} and ${path}.${field} are one field in two forms: give one of them`);
      }
      fields[field] = JSON.stringify(members[alias]);
    }
    return fields;
  },

  unknown(name, value, path) {
    const known = knownNames[name];
    const unknownKey = Object.keys(object(value, path)).find((key) => !known.has(key));
    if (unknownKey === undefined) return undefined;
    const short = truncateForError(unknownKey);
    return { place: path ? `${path}.${short}` : describeValue(unknownKey), hint: didYouMean(short, known) };
  },

  list(value, path) {
    return Array.isArray(value) ? value : typeFault(path, 'a list', value);
  },

  map(value, path) {
    // Without a prototype, "__proto__" is a key like any other, and no inherited key is found.
    const map = Object.create(null) as Record<string, string>;
    for (const [key, text] of Object.entries(object(value, path))) {
      if (!isWellFormed(key)) throw malformed(`a key of ${path} must not hold half of a surrogate pair`);
      map[key] = string(text, `${path}.${truncateForError(key)}`);
    }
    return map;
  },

  enum(names, value, path) {
    if (typeof value !== 'string') return typeFault(path, `one of ${names.join(', ')}`, value);
    if (names.includes(value)) return value;
    const short = truncateForError(value);
    throw malformed(
      `${path} must be one of ${names.join(', ')}, not ${describeValue(value)}${didYouMean(short, names)}`,
    );
  },

  scalars: {
    string,
    bool: (value, path) => (typeof value === 'boolean' ? value : typeFault(path, 'true or false', value)),
    uint32: (value, path) => (isUint32(value) ? value : typeFault(path, 'a whole number from 0 to 4294967295', value)),
    double: (value, path) =>
      typeof value === 'number' && Number.isFinite(value) ? value : typeFault(path, 'a finite number', value),
  },
};

/** Whether a value fits in a uint32 field. */
export const isUint32 = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff;

// Fields with a JSON document as text, by the alias under which a client may send the document as a JSON value instead.
const documentAliases: { readonly [Name in MessageName]?: Readonly<Record<string, string>> } = {
  CreateAgentRequest: { graph: 'graphJson', history: 'historyJson' },
  ChangeParamsRequest: { params: 'paramsJson' },
};

const knownNames: Readonly<Record<MessageName, ReadonlySet<string>>> = byMessage((name) => {
  const names = fieldsOf(name).map(([field]) => field);
  return new Set([...names, ...Object.keys(documentAliases[name] ?? {})]);
});

const isSet = (value: unknown): boolean => value !== undefined && value !== null;

function string(value: unknown, path: string): string {
  if (typeof value !== 'string') return typeFault(path, 'a string', value);
  if (!isWellFormed(value)) throw malformed(`${path} must not hold half of a surrogate pair`);
  return value;
}

function object(value: unknown, path: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return typeFault(path || 'the frame', 'an object', value);
  }
  return value as Fields;
}

function typeFault(path: string, expected: string, value: unknown): never {
  throw malformed(`${path} must be ${expected}, not ${describeValue(value)}`);
}
