import { shapes, type FieldShape, type ServerFrame } from '../../src/protocol/frames.gen.ts';
import { clientCodecs, type Subprotocol } from '../../src/protocol/codec/codec.ts';
import { isWellFormed } from '../../src/protocol/codec/wellFormed.ts';

/** A frame of the server as it was read. */
export interface ReadFrame {
  /** Undefined for a message that this version does not have: a client ignores it. */
  readonly frame: ServerFrame | undefined;
  readonly seq: number | undefined;
  /** What is wrong with its form; undefined when nothing is. */
  readonly fault: string | undefined;
}

const bodies = new Set(Object.keys(shapes.ServerFrame).filter((name) => name !== 'requestId' && name !== 'seq'));

/** Reads a frame of the server, and finds what is wrong with its form. */
export function readServerFrame(subprotocol: Subprotocol, data: Buffer): ReadFrame {
  const fault = subprotocol === 'turngraph.v1.json' ? jsonFault(data) : undefined;
  const decoded = clientCodecs[subprotocol].decode(subprotocol === 'turngraph.v1.json' ? data.toString() : data);
  if (decoded.ok) return { frame: decoded.frame, seq: decoded.frame.seq, fault };
  if (fault === undefined && decoded.fault.name === 'UNKNOWN_MESSAGE_TYPE')
    return { frame: undefined, seq: undefined, fault: undefined };
  return { frame: undefined, seq: undefined, fault: fault ?? decoded.fault.message };
}

// The codec of a client accepts more than a server may send: a server writes every field, with its own type.
function jsonFault(data: Buffer): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(data.toString());
  } catch {
    return 'no JSON';
  }
  if (!isObject(value)) return 'no JSON object';
  const members = Object.keys(value).filter((name) => name !== 'requestId' && name !== 'seq');
  if (members.length !== 1) return `${members.length} messages in one frame: ${members.join(', ')}`;
  for (const name of ['requestId', 'seq'] as const) {
    const problem = valueFault(shapes.ServerFrame[name], value[name], name);
    if (problem !== undefined) return problem;
  }
  const [body = ''] = members;
  const shape: FieldShape | undefined = bodies.has(body)
    ? (shapes.ServerFrame as Readonly<Record<string, FieldShape>>)[body]
    : undefined;
  return shape && valueFault(shape, value[body], body);
}

function messageFault(name: keyof typeof shapes, value: unknown, path: string): string | undefined {
  if (!isObject(value)) return `${path} is no object`;
  for (const [field, shape] of Object.entries<FieldShape>(shapes[name])) {
    const mayBeAbsent = shape.oneof !== undefined || ('message' in shape && !shape.repeated);
    if (mayBeAbsent && value[field] === undefined) continue;
    const problem = valueFault(shape, value[field], `${path}.${field}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function valueFault(shape: FieldShape, value: unknown, path: string): string | undefined {
  if (value === undefined) return `no ${path}`;
  if (!shape.repeated) return itemFault(shape, value, path);
  if (!Array.isArray(value)) return `${path} is no list`;
  return value.map((item, index) => itemFault(shape, item, `${path}[${index}]`)).find((found) => found !== undefined);
}

function itemFault(shape: FieldShape, value: unknown, path: string): string | undefined {
  if ('message' in shape) return messageFault(shape.message, value, path);
  if ('enum' in shape) return typeof value === 'string' ? undefined : `${path} is no name of an enum`;
  if ('map' in shape) return isObject(value) ? undefined : `${path} is no object`;
  switch (shape.scalar) {
    case 'string':
      return typeof value === 'string' && isWellFormed(value) ? undefined : `${path} is no string of whole characters`;
    case 'bool':
      return typeof value === 'boolean' ? undefined : `${path} is neither true nor false`;
    case 'uint32':
      return isUint32(value) ? undefined : `${path} is no whole number from 0 to 4294967295`;
    case 'double':
      return typeof value === 'number' ? undefined : `${path} is no number`;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isUint32 = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff;
