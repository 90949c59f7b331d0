import type { ClientFrame } from '../frames.gen.ts';
import { documentText } from './documentText.ts';
import { frameReader, malformed } from './frameReader.ts';
import { jsonValueEncoding, unknownMember, wrongType } from './jsonEncoding.ts';
import type { Fields } from './messageShape.ts';
import { isPlainObject } from './wellFormed.ts';

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
    list(value, path) {
      // Without holes: map() would keep them.
      if (Array.isArray(value)) return [...(value as readonly unknown[])];
      throw wrongType(path, 'a list', value);
    },
    documentText,
  }),
);
