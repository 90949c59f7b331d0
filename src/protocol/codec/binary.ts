import protobuf from 'protobufjs/minimal.js';
import { jsonExcesses, maxClientValues } from '../../base/jsonBounds.ts';
import type { DecodeResult, FieldEncoding, Fields, Envelope, Frames, MessageName } from './frame.ts';
import { bodiesOf, byMessage, fieldsOf, frameReader, messageOf } from './frame.ts';
import { describeError, Fault, malformed } from '../fault.ts';
import type { ClientFrame, FieldShape, ServerFrame } from '../frames.gen.ts';
import { envelopes } from './frames.static.gen.ts';
import { wellFormed } from './wellFormed.ts';

export function encodeBinary(frame: ClientFrame | ServerFrame): Uint8Array<ArrayBuffer> {
  const envelope = 'seq' in frame ? 'ServerFrame' : 'ClientFrame';
  const name = bodiesOf(envelope).get(frame.body);
  const rewrite = name && withNumbers[name];
  const message = rewrite ? { ...frame, [frame.body]: rewrite(messageOf(frame)) } : frame;
  // protobufjs never allocates shared memory, but its types allow it.
  return envelopes[envelope].encode(message, new WellFormedWriter()).finish() as Uint8Array<ArrayBuffer>;
}

/** Decodes a protobuf frame. Never throws: errors are in the result. */
export function decodeBinary<E extends Envelope>(envelope: E, data: string | Uint8Array): DecodeResult<Frames[E]> {
  let requestId = 0;
  try {
    if (typeof data === 'string') throw malformed('the frame is text; this subprotocol speaks binary messages');
    requestId = requestIdOf(data);
    return { ok: true, frame: readers[envelope](decode(envelope, data)) };
  } catch (thrown) {
    return { ok: false, requestId, fault: Fault.from(thrown) };
  }
}

/** By message: writes enum values as numbers. Those without any are encoded without a copy: streamed text is cheap. */
const withNumbers = byMessage(enumRewriter);

function enumRewriter(name: MessageName): ((message: Fields) => Fields) | undefined {
  const fields = fieldsOf(name).flatMap(([key, shape]) => {
    const rewriteItem = itemRewriter(shape);
    if (!rewriteItem) return [];
    const rewriteList = (list: unknown): unknown => (list as readonly unknown[]).map(rewriteItem);
    return [{ key, rewrite: shape.repeated ? rewriteList : rewriteItem }];
  });
  if (fields.length === 0) return undefined;
  return (message) => {
    const copy: Record<string, unknown> = { ...message };
    for (const { key, rewrite } of fields) if (copy[key] !== undefined) copy[key] = rewrite(copy[key]);
    return copy;
  };
}

function itemRewriter(shape: FieldShape): ((value: unknown) => unknown) | undefined {
  if ('enum' in shape) return (value) => shape.enum.indexOf(value as string);
  const rewrite = 'message' in shape ? enumRewriter(shape.message) : undefined;
  return rewrite && ((value) => (value === null ? value : rewrite(value as Fields)));
}

/** The protobuf encoding of frame fields, as the generated code decodes them: scalars have their types already. */
const binaryEncoding: FieldEncoding = {
  isSet: (value) => value !== undefined && value !== null,

  fields: (_, value) => value as Fields,

  // Includes a field with a known number and a wrong wire type.
  unknown(_, value, path) {
    const [unknownField] = (value as { readonly $unknowns?: readonly Uint8Array[] }).$unknowns ?? [];
    if (unknownField === undefined) return undefined;
    const tag = protobuf.Reader.create(unknownField).uint32();
    return { place: `field ${tag >>> 3} of wire type ${tag & 7}${path && ` in ${path}`}`, hint: '' };
  },

  list(value, path) {
    const items = value as readonly unknown[];
    // JSON is measured before it is parsed. Here two bytes can be a message.
    if (typeof items[0] === 'object' && items.length > maxClientValues)
      throw new Fault('LIMIT_EXCEEDED', `${path} ${jsonExcesses.values}`);
    return items;
  },

  // Without a prototype, "__proto__" is a key like any other, and no inherited key is found.
  map: (value) => Object.setPrototypeOf(value, null) as Readonly<Record<string, string>>,

  enum(names, value, path, unknownAs) {
    const name = names[value as number] ?? unknownAs;
    if (name !== undefined) return name;
    throw malformed(`${path} must be a number from 0 to ${names.length - 1}, not ${String(value)}`);
  },

  scalars: {
    string: (value) => value as string,
    bool: (value) => value as boolean,
    uint32: (value) => value as number,
    double(value, path) {
      if (Number.isFinite(value)) return value as number;
      throw malformed(`${path} must be a finite number, not ${String(value)}`);
    },
  },
};

const readers: { readonly [E in Envelope]: (value: unknown) => Frames[E] } = {
  ClientFrame: frameReader('ClientFrame', binaryEncoding),
  ServerFrame: frameReader('ServerFrame', binaryEncoding),
};

// A lone surrogate would be encoded as invalid UTF-8, which strict decoders reject.
class WellFormedWriter extends (protobuf.util.Buffer ? protobuf.BufferWriter : protobuf.Writer) {
  override string(text: string): protobuf.Writer {
    return super.string(wellFormed(text));
  }
}

function decode(envelope: Envelope, data: Uint8Array): object {
  const reader = protobuf.Reader.create(data);
  reader.discardUnknown = false;
  try {
    return envelopes[envelope].decode(reader);
  } catch (thrown) {
    const reason = describeError(thrown);
    throw malformed(`the frame is not a ${envelope} of turngraph.v1: ${reason}`, thrown);
  }
}

// Reads only the request id, so that the error for an invalid frame can name its request. Every encoder writes field 1 first.
function requestIdOf(data: Uint8Array): number {
  const isRequestId = data[0] === 0x08;
  const endsWithin5Bytes = data.subarray(1, 6).some((byte) => byte < 0x80);
  return isRequestId && endsWithin5Bytes ? protobuf.Reader.create(data.subarray(1)).uint32() : 0;
}
