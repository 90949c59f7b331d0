import { isPlainObject } from '../../src/protocol/codec/wellFormed.ts';
import { changeBody, double, fixed32, lengthDelimited, varintField } from '../protobufFields.ts';

/** An encoded server frame: text of the JSON form, bytes of the binary form. */
export type FramePayload = string | Uint8Array;

/** Changes an encoded frame of the server into one that a newer server of version 1 may send. */
export type FrameChange = (payload: FramePayload) => FramePayload;

type JsonObject = Record<string, unknown>;

// Numbers that the proto does not use.
const unknownFieldNumber = 1900;
const unknownBodyNumber = 900;

/** Adds fields that this version does not have to the envelope and to its message, of every type. */
export const withUnknownFields: FrameChange = (payload) =>
  typeof payload === 'string'
    ? changeJson(payload, (envelope, body) => {
        const future = {
          futureText: 'x',
          futureNumber: 1.5,
          futureList: [{ a: [] }],
          futureFlag: true,
          futureNull: null,
        };
        const nested = (envelope[body] as JsonObject)['path'];
        if (Array.isArray(nested)) for (const step of nested) Object.assign(step as JsonObject, future);
        return { ...future, ...envelope, [body]: { ...future, ...(envelope[body] as JsonObject), future } };
      })
    : concat([appendToBody(payload, unknownFields()), unknownFields()]);

/** Gives an enum field of the message a value that this version does not have. */
export const withUnknownEnum =
  (field: string, number: number): FrameChange =>
  (payload) =>
    typeof payload === 'string'
      ? changeJson(payload, (envelope, body) => ({
          ...envelope,
          [body]: { ...(envelope[body] as JsonObject), [field]: 'FUTURE_VALUE' },
        }))
      : appendToBody(payload, varintField(number, 99));

/**
 * Leaves out all fields of a JSON frame that have their defaults, and writes `null` for those of `nulls`, and for messages
 * that the frame does not have.
 */
export const withoutDefaults =
  (...nulls: readonly string[]): FrameChange =>
  (payload) =>
    typeof payload === 'string'
      ? changeJson(payload, (envelope, body) => ({
          ...nullMembers(otherBodies),
          ...envelope,
          [body]: {
            ...Object.fromEntries(
              Object.entries(envelope[body] as JsonObject).filter(([, value]) => !isDefault(value)),
            ),
            ...nullMembers(nulls),
          },
        }))
      : payload;

// A client that looks for a name, and not at its value, would take the frame for one of these.
const otherBodies = ['error', 'turnComplete', 'ack'];

const nullMembers = (names: readonly string[]): JsonObject => Object.fromEntries(names.map((name) => [name, null]));

/** Writes every character of a JSON frame that is not ASCII as an escape, so that a pair of surrogates is two escapes. */
export const withEscapes: FrameChange = (payload) =>
  typeof payload === 'string'
    ? payload.replaceAll(/[^\u0020-\u007e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    : payload;

/** A frame with a message that this version does not have. */
export function unknownMessage(isBinary: boolean, requestId: number, seq: number): FramePayload {
  if (!isBinary)
    return JSON.stringify({ requestId, seq, futureMessage: { agentId: 1, text: 'not for you', isFinal: true } });
  const body = lengthDelimited(unknownBodyNumber, varintField(1, 1));
  return concat([varintField(1, requestId), varintField(2, seq), body]);
}

const isDefault = (value: unknown): boolean =>
  value === '' ||
  value === 0 ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  value === 'SUCCESS' ||
  value === 'AUTO' ||
  value === 'NONE';

function changeJson(text: string, change: (envelope: JsonObject, body: string) => JsonObject): string {
  const envelope = JSON.parse(text) as JsonObject;
  const body = Object.keys(envelope).find((name) => isPlainObject(envelope[name]));
  return body === undefined ? text : JSON.stringify(change(envelope, body));
}

const unknownFields = (): Uint8Array =>
  concat([
    varintField(unknownFieldNumber, 300),
    lengthDelimited(unknownFieldNumber + 1, Buffer.from('a newer field')),
    fixed32(unknownFieldNumber + 2, 7),
    double(unknownFieldNumber + 3, 1.5),
  ]);

const appendToBody = (payload: Uint8Array, fields: Uint8Array): Uint8Array =>
  changeBody(payload, (body) => concat([body, fields]));

const concat = (parts: readonly Uint8Array[]): Uint8Array => Buffer.concat(parts);
