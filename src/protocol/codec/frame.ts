import type { ClientFrame, ClientFrameBodies, FieldShape, ServerFrame, ServerFrameBodies } from '../frames.gen.ts';
import { shapes } from '../frames.gen.ts';
import { Fault, malformed } from '../fault.ts';

/** The frames of both directions, by envelope: the outer message of the proto. */
export interface Frames {
  readonly ClientFrame: ClientFrame;
  readonly ServerFrame: ServerFrame;
}

export type Envelope = keyof Frames;

/** The body of a frame. */
export function messageOf(frame: ClientFrame | ServerFrame): Fields {
  // TypeScript cannot correlate the body name with the field of that name.
  return (frame as unknown as Readonly<Record<string, Fields>>)[frame.body] ?? {};
}

/** Creates a client frame; missing fields take their defaults. */
export function clientFrame<Body extends keyof ClientFrameBodies>(
  requestId: number,
  body: Body,
  fields: Partial<ClientFrameBodies[Body]> = {},
): ClientFrame {
  return { requestId, body, [body]: { ...defaults.ClientFrame.get(body), ...fields } } as unknown as ClientFrame;
}

/** Creates a server frame; missing fields take their defaults. */
export function serverFrame<Body extends keyof ServerFrameBodies>(
  requestId: number,
  seq: number,
  body: Body,
  fields: Partial<ServerFrameBodies[Body]> = {},
): ServerFrame {
  return { requestId, seq, body, [body]: { ...defaults.ServerFrame.get(body), ...fields } } as unknown as ServerFrame;
}

export type MessageName = keyof typeof shapes;

/** The field values of any message, by field name. */
export type Fields = Readonly<Record<string, unknown>>;

/** The fields of a message with their shapes, in the order of the proto. */
export const fieldsOf = (name: MessageName): readonly (readonly [name: string, shape: FieldShape])[] => fields[name];

/** The proto3 default of a field; null for a message, undefined for a member of a oneof, which is then omitted. */
export function defaultOf(shape: FieldShape): unknown {
  if (shape.oneof !== undefined) return undefined;
  if (shape.repeated) return emptyList;
  if ('map' in shape) return emptyMap;
  if ('message' in shape) return null;
  return 'enum' in shape ? shape.enum[0] : zeros[shape.scalar];
}

/** The messages that an envelope can hold, by body name. */
export const bodiesOf = (envelope: Envelope): ReadonlyMap<string, MessageName> => bodies[envelope];

/** Creates a table with one entry per message of the proto. */
export function byMessage<Entry>(createEntry: (name: MessageName) => Entry): Readonly<Record<MessageName, Entry>> {
  const names = Object.keys(shapes) as MessageName[];
  return Object.fromEntries(names.map((name) => [name, createEntry(name)])) as Record<MessageName, Entry>;
}

const zeros = { string: '', bool: false, uint32: 0, double: 0 } as const;
const emptyList: readonly never[] = Object.freeze([]);
const emptyMap: Readonly<Record<string, string>> = Object.freeze(Object.create(null));

const fields = byMessage((name) => Object.entries<FieldShape>(shapes[name]));

const byEnvelope = <Entry>(createEntry: (envelope: Envelope) => Entry): Readonly<Record<Envelope, Entry>> => ({
  ClientFrame: createEntry('ClientFrame'),
  ServerFrame: createEntry('ServerFrame'),
});

const bodies = byEnvelope((envelope) => {
  const members = fields[envelope].filter(([, shape]) => shape.oneof !== undefined);
  return new Map(members.flatMap(([name, shape]) => ('message' in shape ? [[name, shape.message] as const] : [])));
});

const defaults = byEnvelope(
  (envelope) => new Map([...bodiesOf(envelope)].map(([body, name]) => [body, defaultsOf(name)])),
);

function defaultsOf(name: MessageName): Fields {
  const present = fieldsOf(name).filter(([, shape]) => shape.oneof === undefined);
  return Object.fromEntries(present.map(([field, shape]) => [field, defaultOf(shape)]));
}

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
  /** @param unknownAs what a value counts as that has the right type, but is none of the proto; undefined: it is an error. */
  enum(names: readonly string[], value: unknown, path: string, unknownAs: string | undefined): string;
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
    if ('enum' in shape) return encoding.enum(shape.enum, value, path, rejectsUnknown ? undefined : shape.enum[0]);
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
