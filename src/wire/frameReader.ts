import { Fault } from '../fault.ts';
import type { FieldShape } from '../frames.gen.ts';
import type { Envelope, Frames } from './frame.ts';
import { bodiesOf, defaultOf, fieldsOf, type Fields, type MessageName } from './messageShape.ts';

/** How one encoding holds the parts of a frame. Each reader refuses what is no such part, with its path. */
export interface FieldEncoding {
  /** The fields of a message by name; an absent one is null or undefined. */
  fields(name: MessageName, value: unknown, path: string): Fields;
  /** What stands in a message beside its fields, if anything does. */
  unknown(name: MessageName, value: unknown, path: string): UnknownField | undefined;
  list(value: unknown, path: string): readonly unknown[];
  map(value: unknown, path: string): Readonly<Record<string, string>>;
  enum(names: readonly string[], value: unknown, path: string): string;
  readonly scalars: {
    string(value: unknown, path: string): string;
    bool(value: unknown, path: string): boolean;
    uint32(value: unknown, path: string): number;
    double(value: unknown, path: string): number;
  };
}

/** Something that the proto has no field for: where it stands, and a hint such as `; did you mean "text"?`. */
export interface UnknownField {
  readonly place: string;
  readonly hint: string;
}

/** What came of decoding: a frame, or the Fault to answer with and the request it answers (0 when that could not be read). */
export type DecodeResult<Frame> =
  | { readonly ok: true; readonly frame: Frame }
  | { readonly ok: false; readonly requestId: number; readonly fault: Fault };

/** A refusal that names the place and the mend: `text must be a string, not 3`. */
export const malformed = (sentence: string, cause?: unknown): Fault =>
  new Fault('MALFORMED_MESSAGE', sentence, { cause });

/**
 * Reads frames of one direction out of an encoding, all defaults filled in; throws a Fault. What a client sends beside
 * the fields of the proto is refused; what a server does is passed over, so that a newer server can serve an older client.
 */
export function frameReader<E extends Envelope>(envelope: E, notation: FieldEncoding): (value: unknown) => Frames[E] {
  const strict = envelope === 'ClientFrame';
  const bodies = bodiesOf(envelope);
  const head = fieldsOf(envelope).filter(([name]) => !bodies.has(name));

  return (value) => {
    const fields = notation.fields(envelope, value, '');
    const [given, second] = [...bodies].filter(([name]) => isGiven(fields[name]));
    if (!given) throw unknownBody(notation.unknown(envelope, value, ''));
    const [body, message] = given;
    refuseUnknown(envelope, value, '');
    if (second) throw malformed(`a frame holds one message, not both ${body} and ${second[0]}: send two frames`);
    const frame: Record<string, unknown> = {};
    for (const [name, shape] of head) frame[name] = field(shape, fields[name], name);
    frame['body'] = body;
    frame[body] = readMessage(message, fields[body], body);
    // The shapes and the types are generated from the same proto.
    return frame as unknown as Frames[E];
  };

  function readMessage(name: MessageName, value: unknown, path: string): Fields {
    const fields = notation.fields(name, value, path);
    refuseUnknown(name, value, path);
    const message: Record<string, unknown> = {};
    const chosen: Record<string, string> = {};
    for (const [key, shape] of fieldsOf(name)) {
      const at = `${path}.${key}`;
      const read = field(shape, fields[key], at);
      if (read === undefined) continue;
      message[key] = read;
      if (shape.oneof === undefined) continue;
      const rival = chosen[shape.oneof];
      if (rival) throw malformed(`${rival} and ${at} exclude each other: give one of them`);
      chosen[shape.oneof] = at;
    }
    return message;
  }

  function refuseUnknown(name: MessageName, value: unknown, path: string): void {
    const unknown = strict ? notation.unknown(name, value, path) : undefined;
    if (unknown) throw malformed(`${unknown.place} is not known here${unknown.hint}`);
  }

  function field(shape: FieldShape, value: unknown, path: string): unknown {
    if (!isGiven(value)) return defaultOf(shape);
    if (!shape.repeated) return single(shape, value, path);
    return notation.list(value, path).map((item, index) => single(shape, item, `${path}[${index}]`));
  }

  function single(shape: FieldShape, value: unknown, path: string): unknown {
    if ('message' in shape) return readMessage(shape.message, value, path);
    if ('map' in shape) return notation.map(value, path);
    if ('enum' in shape) return notation.enum(shape.enum, value, path);
    return notation.scalars[shape.scalar](value, path);
  }
}

const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

function unknownBody(unknown: UnknownField | undefined): Fault {
  return new Fault(
    'UNKNOWN_MESSAGE_TYPE',
    unknown
      ? `${unknown.place} is no message of this protocol${unknown.hint}`
      : 'the frame holds no message: give one, as in {"requestId": 1, "sendMessage": {"agentId": 1, "text": "hello"}}',
  );
}
