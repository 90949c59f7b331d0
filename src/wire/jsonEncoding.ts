import { didYouMean } from '../didYouMean.ts';
import { malformed, type FieldEncoding } from './frameReader.ts';
import { byMessage, fieldsOf, type Fields, type MessageName } from './messageShape.ts';
import { isWellFormed, truncateForError, describeValue } from './wellFormed.ts';

/** Parts of a frame as JSON.parse gives them. */
export const jsonEncoding: FieldEncoding = {
  fields(name, value, path) {
    const given = object(value, path);
    const inValueForm = Object.entries(documents[name] ?? {}).filter(([alias]) => isGiven(given[alias]));
    if (inValueForm.length === 0) return given;
    const fields: Record<string, unknown> = { ...given };
    for (const [alias, field] of inValueForm) {
      if (isGiven(given[field])) {
        throw malformed(`${path}.${alias} and ${path}.${field} are one field in two forms: give one of them`);
      }
      fields[field] = JSON.stringify(given[alias]);
    }
    return fields;
  },

  unknown(name, value, path) {
    const known = knownNames[name];
    const stray = Object.keys(object(value, path)).find((key) => !known.has(key));
    if (stray === undefined) return undefined;
    const short = truncateForError(stray);
    return { place: path ? `${path}.${short}` : describeValue(stray), hint: didYouMean(short, known) };
  },

  list(value, path) {
    return Array.isArray(value) ? value : typeFault(path, 'a list', value);
  },

  map(value, path) {
    // Without a prototype "__proto__" is a key like any other, and no key is found that nobody gave.
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

/** Whether a value can stand in a uint32 field. */
export const isUint32 = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff;

// Fields that hold a JSON document, by the names under which a client may give them as the value itself.
const documents: { readonly [Name in MessageName]?: Readonly<Record<string, string>> } = {
  CreateAgentRequest: { graph: 'graphJson', history: 'historyJson' },
  ChangeParamsRequest: { params: 'paramsJson' },
};

const knownNames: Readonly<Record<MessageName, ReadonlySet<string>>> = byMessage((name) => {
  const names = fieldsOf(name).map(([field]) => field);
  return new Set([...names, ...Object.keys(documents[name] ?? {})]);
});

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

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

function typeFault(path: string, wanted: string, value: unknown): never {
  throw malformed(`${path} must be ${wanted}, not ${describeValue(value)}`);
}
