import { didYouMean } from '../../base/didYouMean.ts';
import { malformed, type FieldEncoding, type UnknownField } from './frameReader.ts';
import { byMessage, fieldsOf, type Fields, type MessageName } from './messageShape.ts';
import { isWellFormed, truncateForError, describeValue } from './wellFormed.ts';

/** What differs between JSON values from the wire and those that a program gives to the client. */
export interface JsonValueRules {
  /** Whether a field is given. */
  isSet(value: unknown): boolean;
  /** The members of an object. @throws Fault MALFORMED_MESSAGE */
  object(value: unknown, path: string): Fields;
  list(value: unknown, path: string): readonly unknown[];
  /** A JSON document as text. @throws Fault MALFORMED_MESSAGE */
  documentText(value: unknown, path: string): string;
}

/** Creates the encoding of frame fields as JSON values. */
export function jsonValueEncoding({ isSet, object, list, documentText }: JsonValueRules): FieldEncoding {
  return {
    isSet,
    list,

    fields(name, value, path) {
      const members = object(value, path);
      const inValueForm = Object.entries(documentAliases[name] ?? {}).filter(([alias]) => isSet(members[alias]));
      if (inValueForm.length === 0) return members;
      const fields: Record<string, unknown> = { ...members };
      for (const [alias, field] of inValueForm) {
        if (isSet(members[field])) {
          throw malformed(`${path}.${alias} and ${path}.${field} are one field in two forms: give one of them`);
        }
        fields[field] = documentText(members[alias], `${path}.${alias}`);
      }
      return fields;
    },

    unknown: (name, value, path) => unknownMember(object(value, path), knownNames[name], path),

    map(value, path) {
      // Without a prototype, "__proto__" is a key like any other, and no inherited key is found.
      const map = Object.create(null) as Record<string, string>;
      const members = object(value, path);
      for (const key of Object.keys(members)) {
        const text = members[key];
        if (text === undefined) continue;
        if (!isWellFormed(key)) throw malformed(`a key of ${path} must not hold half of a surrogate pair`);
        // The path of each entry is only made for its error: a map can have tens of thousands.
        const isValid = typeof text === 'string' && isWellFormed(text);
        map[key] = isValid ? text : string(text, `${path}.${truncateForError(key)}`);
      }
      return map;
    },

    isUnknownEnum: (names, value) => typeof value === 'string' && !names.includes(value),

    enum(names, value, path) {
      if (typeof value !== 'string') throw wrongType(path, `one of ${names.join(', ')}`, value);
      if (names.includes(value)) return value;
      const short = truncateForError(value);
      throw malformed(
        `${path} must be one of ${names.join(', ')}, not ${describeValue(value)}${didYouMean(short, names)}`,
      );
    },

    scalars: {
      string,
      bool(value, path) {
        if (typeof value === 'boolean') return value;
        throw wrongType(path, 'true or false', value);
      },
      uint32(value, path) {
        if (isUint32(value)) return value;
        throw wrongType(path, 'a whole number from 0 to 4294967295', value);
      },
      double(value, path) {
        if (typeof value === 'number' && Number.isFinite(value)) return value;
        throw wrongType(path, 'a finite number', value);
      },
    },
  };
}

/** The JSON encoding of frame fields, as JSON.parse returns them. */
export const jsonEncoding: FieldEncoding = jsonValueEncoding({
  isSet: (value) => value !== undefined && value !== null,
  object(value, path) {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
    throw wrongType(path || 'the frame', 'an object', value);
  },
  list(value, path) {
    if (Array.isArray(value)) return value;
    throw wrongType(path, 'a list', value);
  },
  documentText: (value) => JSON.stringify(value),
});

/** Whether a value fits in a uint32 field. */
export const isUint32 = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff;

/** The MALFORMED_MESSAGE error for a value of the wrong type: `text must be a string, not 3`. */
export const wrongType = (path: string, expected: string, value: unknown): Error =>
  malformed(`${path} must be ${expected}, not ${describeValue(value)}`);

/** The first member of an object whose name is not known; undefined when all are known. */
export function unknownMember(members: Fields, known: ReadonlySet<string>, path: string): UnknownField | undefined {
  const unknownKey = Object.keys(members).find((key) => !known.has(key));
  if (unknownKey === undefined) return undefined;
  const short = truncateForError(unknownKey);
  return { place: path ? `${path}.${short}` : describeValue(unknownKey), hint: didYouMean(short, known) };
}

// Fields with a JSON document as text, by the alias under which a client may send the document as a JSON value instead.
const documentAliases: { readonly [Name in MessageName]?: Readonly<Record<string, string>> } = {
  CreateAgentRequest: { graph: 'graphJson', history: 'historyJson' },
  ChangeParamsRequest: { params: 'paramsJson' },
  SearchStorageRequest: { filter: 'filterJson' },
};

const knownNames: Readonly<Record<MessageName, ReadonlySet<string>>> = byMessage((name) => {
  const names = fieldsOf(name).map(([field]) => field);
  return new Set([...names, ...Object.keys(documentAliases[name] ?? {})]);
});

function string(value: unknown, path: string): string {
  if (typeof value !== 'string') throw wrongType(path, 'a string', value);
  if (!isWellFormed(value)) throw malformed(`${path} must not hold half of a surrogate pair`);
  return value;
}
