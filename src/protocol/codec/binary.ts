import protobuf from 'protobufjs/minimal.js';
import { Fault, describeError } from '../fault.ts';
import type { ClientFrame, ServerFrame } from '../frames.gen.ts';
import { binaryEncoding } from './binaryEncoding.ts';
import { messageOf, type Envelope, type Frames } from './frame.ts';
import { envelopes } from './frames.static.gen.ts';
import { frameReader, malformed, type DecodeResult } from './frameReader.ts';
import { rewriters, type FieldChange } from './fieldRewriter.ts';
import { wellFormed } from './wellFormed.ts';

/** Encodes a frame as protobuf. */
export function encodeBinary(frame: ClientFrame | ServerFrame): Uint8Array<ArrayBuffer> {
  const envelope = 'seq' in frame ? 'ServerFrame' : 'ClientFrame';
  const rewrite = withNumbers[envelope].get(frame.body);
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

const enums: FieldChange = {
  matches: (shape) => 'enum' in shape,
  apply: (shape, value) => ('enum' in shape ? shape.enum.indexOf(value as string) : value),
};

const withNumbers = {
  ClientFrame: rewriters('ClientFrame', enums),
  ServerFrame: rewriters('ServerFrame', enums),
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

// Reads only the request id, so that the error for an invalid frame can name its request. Every encoder writes field 1
// first.
function requestIdOf(data: Uint8Array): number {
  const isRequestId = data[0] === 0x08;
  const endsWithin5Bytes = data.subarray(1, 6).some((byte) => byte < 0x80);
  return isRequestId && endsWithin5Bytes ? protobuf.Reader.create(data.subarray(1)).uint32() : 0;
}
