import { didYouMean } from '../../base/didYouMean.ts';
import { findJsonExcess, jsonExcesses, maxClientValues } from '../../base/jsonBounds.ts';
import type { DecodeResult, FieldEncoding, UnknownField, Envelope, Fields, Frames, MessageName } from './frame.ts';
import { frameReader, byMessage, fieldsOf, messageOf } from './frame.ts';
import { describeValue, isWellFormed, truncateForError, wellFormed, isPlainObject } from './wellFormed.ts';
import { describeError, Fault, malformed } from '../fault.ts';
import type { ClientFrame, ServerFrame } from '../frames.gen.ts';

/** Encodes a frame as proto3 JSON. All fields are written, except absent messages. */
export function encodeJson(frame: ClientFrame | ServerFrame): string {
  const { requestId, body } = frame;
  const message = messageOf(frame);
  const envelope = 'seq' in frame ? { requestId, seq: frame.seq, [body]: message } : { requestId, [body]: message };
  const text = JSON.stringify(envelope);
  // JSON.stringify writes a lone surrogate as \\ud..., which parsers in other languages reject, and null for no message.
  if (!text.includes('\\ud') && !text.includes(':null')) return text;
  return JSON.stringify(envelope, (_, value: unknown) =>
    typeof value === 'string' ? wellFormed(value) : (value ?? undefined),
  );
}

/** Decodes a JSON frame from text or UTF-8 bytes. Never throws: errors are in the result. */
export function decodeJson<E extends Envelope>(envelope: E, data: string | Uint8Array): DecodeResult<Frames[E]> {
  let requestId = 0;
  try {
    const text = typeof data === 'string' ? data : parse(() => utf8.decode(data));
    const excess = envelope === 'ClientFrame' ? findJsonExcess(text, maxClientValues) : undefined;
    const value = parse((): unknown => (excess ? { requestId: Number(leadingId.exec(text)?.[1]) } : JSON.parse(text)));
    requestId = requestIdOf(value);
    if (excess === 'levels') throw malformed(`the frame ${jsonExcesses.levels}`);
    if (excess) throw new Fault('LIMIT_EXCEEDED', `the frame ${jsonExcesses.values}`);
    return { ok: true, frame: readers[envelope](value) };
  } catch (thrown) {
    return { ok: false, requestId, fault: Fault.from(thrown) };
  }
}

const isUint32 = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff;

interface JsonValueRules {
  /** Whether a field is given. */
  isSet(value: unknown): boolean;
  /** The members of an object. @throws Fault MALFORMED_MESSAGE */
  object(value: unknown, path: string): Fields;
  /** A JSON document as text. @throws Fault MALFORMED_MESSAGE */
  documentText(value: unknown, path: string): string;
}

const jsonValueEncoding = (rules: JsonValueRules): FieldEncoding => ({
  isSet: rules.isSet,
  list(value, path) {
    // Without holes: map() would keep them.
    if (Array.isArray(value)) return [...(value as readonly unknown[])];
    throw wrongType(path, 'a list', value);
  },
  fields: (name, value, path) => withDocumentTexts(name, rules.object(value, path), path, rules),
  unknown: (name, value, path) => unknownMember(rules.object(value, path), knownNames[name], path),
  map: (value, path) => stringMap(rules.object(value, path), path),
  enum: enumValue,
  scalars: {
    string,
    bool: scalar('true or false', (value) => typeof value === 'boolean'),
    uint32: scalar('a whole number from 0 to 4294967295', isUint32),
    double: scalar('a finite number', (value): value is number => Number.isFinite(value)),
  },
});

const jsonEncoding: FieldEncoding = jsonValueEncoding({
  isSet: (value) => value !== undefined && value !== null,
  object(value, path) {
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Fields;
    throw wrongType(path || 'the frame', 'an object', value);
  },
  documentText(value, path) {
    const text = JSON.stringify(value);
    // A number above what a double can hold is Infinity by now, which JSON.stringify writes as null.
    return text.includes('null') ? documentText(value, path) : text;
  },
});

/** The MALFORMED_MESSAGE error for a value of the wrong type: `text must be a string, not 3`. */
export const wrongType = (path: string, expected: string, value: unknown): Error =>
  malformed(`${path} must be ${expected}, not ${describeValue(value)}`);

/** The first member of an object whose name is not known; undefined when all are known. */
function unknownMember(members: Fields, known: ReadonlySet<string>, path: string): UnknownField | undefined {
  const unknownKey = Object.keys(members).find((key) => !known.has(key));
  if (unknownKey === undefined) return undefined;
  const short = truncateForError(unknownKey);
  return { place: path ? `${path}.${short}` : describeValue(unknownKey), hint: didYouMean(short, known) };
}

// Fields with a JSON document as text, by the alias under which a client may send the document as a JSON value instead.
const documentAliases: { readonly [Name in MessageName]?: Readonly<Record<string, string>> } = {
  StorageEntry: { metadata: 'metadataJson' },
  CreateAgentRequest: { graph: 'graphJson', history: 'historyJson', tools: 'toolsJson' },
  ChangeParamsRequest: { params: 'paramsJson' },
  SearchStorageRequest: { filter: 'filterJson' },
  SetVariablesRequest: { variables: 'variablesJson' },
  ToolResult: { metadata: 'metadataJson' },
};

const knownNames: Readonly<Record<MessageName, ReadonlySet<string>>> = byMessage((name) => {
  const names = fieldsOf(name).map(([field]) => field);
  return new Set([...names, ...Object.keys(documentAliases[name] ?? {})]);
});

function withDocumentTexts(
  name: MessageName,
  members: Fields,
  path: string,
  { isSet, documentText }: JsonValueRules,
): Fields {
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
}

function stringMap(members: Fields, path: string): Readonly<Record<string, string>> {
  // Without a prototype, "__proto__" is a key like any other, and no inherited key is found.
  const map = Object.create(null) as Record<string, string>;
  for (const key of Object.keys(members)) {
    const text = members[key];
    if (text === undefined) continue;
    if (!isWellFormed(key)) throw malformed(`a key of ${path} must not hold half of a surrogate pair`);
    // The path of each entry is only made for its error: a map can have tens of thousands.
    const isValid = typeof text === 'string' && isWellFormed(text);
    map[key] = isValid ? text : string(text, `${path}.${truncateForError(key)}`);
  }
  return map;
}

function enumValue(names: readonly string[], value: unknown, path: string, unknownAs?: string): string {
  if (typeof value !== 'string') throw wrongType(path, `one of ${names.join(', ')}`, value);
  if (names.includes(value)) return value;
  if (unknownAs !== undefined) return unknownAs;
  const short = truncateForError(value);
  throw malformed(`${path} must be one of ${names.join(', ')}, not ${describeValue(value)}${didYouMean(short, names)}`);
}

function scalar<T>(expected: string, isRight: (value: unknown) => value is T): (value: unknown, path: string) => T {
  return (value, path) => {
    if (isRight(value)) return value;
    throw wrongType(path, expected, value);
  };
}

function string(value: unknown, path: string): string {
  if (typeof value !== 'string') throw wrongType(path, 'a string', value);
  if (!isWellFormed(value)) throw malformed(`${path} must not hold half of a surrogate pair`);
  return value;
}

const readers: { readonly [E in Envelope]: (value: unknown) => Frames[E] } = {
  ClientFrame: frameReader('ClientFrame', jsonEncoding),
  ServerFrame: frameReader('ServerFrame', jsonEncoding),
};

const utf8 = new TextDecoder('utf-8', { fatal: true });

// Of a frame that is not parsed.
const leadingId = /^\s*\{\s*"requestId"\s*:\s*([\d.eE+]+)/;

function parse<T>(read: () => T): T {
  try {
    return read();
  } catch (thrown) {
    throw malformed(`the frame is not JSON: ${describeError(thrown)}`, thrown);
  }
}

// Reads only the request id, so that the error for an invalid frame can name its request.
function requestIdOf(value: unknown): number {
  const id = typeof value === 'object' && value !== null && 'requestId' in value ? value.requestId : undefined;
  return isUint32(id) ? id : 0;
}

/**
 * Creates the frame of a request from the values of a program, by the rules by which a server reads JSON. Only undefined
 * means absent: null, class instances and numbers out of range are errors, because an encoder would lose them.
 * @throws Fault MALFORMED_MESSAGE with the path, UNKNOWN_MESSAGE_TYPE
 */
export const requestFrame = (requestId: number, name: string, fields: unknown): ClientFrame =>
  read({ requestId, [name]: fields });

/**
 * The options of a method. @throws Fault MALFORMED_MESSAGE for a value that is no object, and for an option that is not
 * in `known`.
 */
export function readOptions(method: string, options: unknown, known: ReadonlySet<string>): Fields {
  const members = plainObject(options, `the options of ${method}`);
  const unknown = unknownMember(members, known, method);
  if (unknown) throw malformed(`${unknown.place} is not known here${unknown.hint}`);
  return members;
}

function plainObject(value: unknown, path: string): Fields {
  if (isPlainObject(value)) return value;
  const isInstance = typeof value === 'object' && value !== null && !Array.isArray(value);
  throw wrongType(path, isInstance ? 'a plain object' : 'an object', value);
}

const read = frameReader(
  'ClientFrame',
  jsonValueEncoding({
    isSet: (value) => value !== undefined,
    object: plainObject,
    documentText,
  }),
);

interface Place {
  readonly value: object;
  readonly path: string;
}

/**
 * A document, such as a graph, as JSON text. Members that are undefined are absent; other values that JSON.stringify
 * would drop or replace are errors.
 * @throws Fault MALFORMED_MESSAGE with the path
 */
export function documentText(document: unknown, path: string): string {
  // The objects around the current value, outermost first.
  const around: Place[] = [];

  function check(this: object, key: string, value: unknown): unknown {
    while (around.length > 0 && around.at(-1)?.value !== this) around.pop();
    const parent = around.at(-1);
    const valuePath = () => (parent ? pathOf(parent, key) : path);
    if (value === undefined && parent && !Array.isArray(this)) return undefined;
    const expected = writableInstead(value);
    if (expected !== undefined) throw wrongType(valuePath(), expected, value);
    if (typeof value === 'string' && !isWellFormed(value)) {
      throw malformed(`${valuePath()} must not hold half of a surrogate pair`);
    }
    if (typeof value === 'object' && value !== null) around.push({ value, path: valuePath() });
    return value;
  }

  try {
    return JSON.stringify(document, check);
  } catch (thrown) {
    if (thrown instanceof RangeError) throw malformed(`${path} nests too deeply`, thrown);
    if (!(thrown instanceof TypeError)) throw thrown;
    // A cycle; the further lines of the message draw it.
    throw malformed(`${path} cannot be written as JSON: ${describeError(thrown).split('\n')[0]}`, thrown);
  }
}

// What is expected instead of a value that JSON.stringify drops, replaces or refuses; undefined for any other.
function writableInstead(value: unknown): string | undefined {
  if (typeof value === 'number') return Number.isFinite(value) ? undefined : 'a finite number';
  if (typeof value === 'object' && value !== null) {
    // A Map or a typed array would become {}; the fields of other classes are written.
    const isWritten = Array.isArray(value) || Object.prototype.toString.call(value) === '[object Object]';
    return isWritten ? undefined : 'a plain object';
  }
  return ['undefined', 'function', 'symbol', 'bigint'].includes(typeof value) ? 'a JSON value' : undefined;
}

const pathOf = (parent: Place, key: string): string =>
  Array.isArray(parent.value) ? `${parent.path}[${key}]` : `${parent.path}.${key}`;
