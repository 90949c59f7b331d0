import { Fault, malformed } from '../fault.ts';
import type { FieldShape } from '../frames.gen.ts';
import { type Envelope, type Frames, bodiesOf, defaultOf, fieldsOf, type Fields, type MessageName } from './frame.ts';

/**
 * Reads decoded fields of one encoding (JSON or protobuf). Each reader takes a value and its path in the frame, such as
 * `createAgent.graphJson`.
 * @throws Fault MALFORMED_MESSAGE that names the path, for a value of the wrong type.
 */
export interface FieldEncoding {
  /** Whether a field is given; otherwise it takes its default. */
  isSet(value: unknown): boolean;
  /** The fields of a message by name. */
  fields(name: MessageName, value: unknown, path: string): Fields;
  /** The first field of a message that the proto does not have; undefined when all are known. */
  unknown(name: MessageName, value: unknown, path: string): UnknownField | undefined;
  list(value: unknown, path: string): readonly unknown[];
  map(value: unknown, path: string): Readonly<Record<string, string>>;
  enum(names: readonly string[], value: unknown, path: string): string;
  /** Whether an enum value has the right type, but is none of the proto. */
  isUnknownEnum(names: readonly string[], value: unknown): boolean;
  readonly scalars: {
    string(value: unknown, path: string): string;
    bool(value: unknown, path: string): boolean;
    uint32(value: unknown, path: string): number;
    double(value: unknown, path: string): number;
  };
}

/** A field that the proto does not have: its place, and a hint such as `; did you mean "text"?`. */
export interface UnknownField {
  readonly place: string;
  readonly hint: string;
}

/** Result of decoding: a frame, or the error and the id of its request (0 when that could not be read). */
export type DecodeResult<Frame> =
  | { readonly ok: true; readonly frame: Frame }
  | { readonly ok: false; readonly requestId: number; readonly fault: Fault };

/**
 * Creates the reader of frames of one direction: validates all fields and fills in their defaults. Unknown fields from
 * a client are rejected; those from a server are ignored, so that an older client works with a newer server. An unknown enum value of
 * a server is read as the default.
 * The reader throws a Fault: MALFORMED_MESSAGE or UNKNOWN_MESSAGE_TYPE.
 */
export function frameReader<E extends Envelope>(envelope: E, encoding: FieldEncoding): (value: unknown) => Frames[E] {
  const rejectsUnknown = envelope === 'ClientFrame';
  const bodies = bodiesOf(envelope);
  const head = fieldsOf(envelope).filter(([name]) => !bodies.has(name));

  return (value) => {
    const fields = encoding.fields(envelope, value, '');
    const [first, second] = [...bodies].filter(([name]) => encoding.isSet(fields[name]));
    if (!first) throw unknownBody(encoding.unknown(envelope, value, ''));
    const [body, message] = first;
    rejectUnknown(envelope, value, '');
    if (second) throw malformed(`a frame holds one message, not both ${body} and ${second[0]}: send two frames`);
    const frame: Record<string, unknown> = {};
    for (const [name, shape] of head) frame[name] = readField(shape, fields[name], name);
    frame['body'] = body;
    frame[body] = readMessage(message, fields[body], body);
    // Safe: shapes and types are generated from the same proto.
    return frame as unknown as Frames[E];
  };

  function readMessage(name: MessageName, value: unknown, path: string): Fields {
    const fields = encoding.fields(name, value, path);
    rejectUnknown(name, value, path);
    const message: Record<string, unknown> = {};
    // By oneof: the path of the field that is set.
    const chosen: Record<string, string> = {};
    for (const [key, shape] of fieldsOf(name)) {
      const fieldPath = `${path}.${key}`;
      const fieldValue = readField(shape, fields[key], fieldPath);
      if (fieldValue === undefined) continue;
      message[key] = fieldValue;
      if (shape.oneof === undefined) continue;
      const rival = chosen[shape.oneof];
      if (rival) throw malformed(`${rival} and ${fieldPath} exclude each other: give one of them`);
      chosen[shape.oneof] = fieldPath;
    }
    return message;
  }

  function rejectUnknown(name: MessageName, value: unknown, path: string): void {
    const unknown = rejectsUnknown ? encoding.unknown(name, value, path) : undefined;
    if (unknown) throw malformed(`${unknown.place} is not known here${unknown.hint}`);
  }

  function readField(shape: FieldShape, value: unknown, path: string): unknown {
    if (!encoding.isSet(value)) return defaultOf(shape);
    if (!shape.repeated) return readItem(shape, value, path);
    return encoding.list(value, path).map((item, index) => readItem(shape, item, `${path}[${index}]`));
  }

  function readItem(shape: FieldShape, value: unknown, path: string): unknown {
    if ('message' in shape) return readMessage(shape.message, value, path);
    if ('map' in shape) return encoding.map(value, path);
    if ('enum' in shape) {
      const isIgnored = !rejectsUnknown && encoding.isUnknownEnum(shape.enum, value);
      return isIgnored ? shape.enum[0] : encoding.enum(shape.enum, value, path);
    }
    return encoding.scalars[shape.scalar](value, path);
  }
}

function unknownBody(unknown: UnknownField | undefined): Fault {
  return new Fault(
    'UNKNOWN_MESSAGE_TYPE',
    unknown
      ? `${unknown.place} is no message of this protocol${unknown.hint}`
      : 'the frame holds no message: give one, as in {"requestId": 1, "sendMessage": {"agentId": 1, "text": "hello"}}',
  );
}
