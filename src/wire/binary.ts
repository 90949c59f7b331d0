import protobuf from 'protobufjs/minimal.js';
import { Fault, describeError } from '../fault.ts';
import type { ClientFrame, ServerFrame } from '../frames.gen.ts';
import { binaryEncoding } from './binaryEncoding.ts';
import { messageOf, type Envelope, type Frames } from './frame.ts';
import { envelopes } from './frames.static.gen.ts';
import { frameReader, malformed, type DecodeResult } from './frameReader.ts';
import { rewriters, type FieldChange } from './fieldRewriter.ts';
import { wellFormed } from './wellFormed.ts';

/** A frame as the bytes of its protobuf message. */
export function encodeBinary(frame: ClientFrame | ServerFrame): Uint8Array<ArrayBuffer> {
  const envelope = 'seq' in frame ? 'ServerFrame' : 'ClientFrame';
  const rewrite = withNumbers[envelope].get(frame.body);
  const written = rewrite ? { ...frame, [frame.body]: rewrite(messageOf(frame)) } : frame;
  // protobufjs allocates no shared memory; its types do not say so.
  return envelopes[envelope].encode(written, new WellFormedWriter()).finish() as Uint8Array<ArrayBuffer>;
}

/** Reads a protobuf frame. */
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

// Text with half of a surrogate pair would become bytes that no strict reader takes.
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

// Known even of a frame that is refused, so that the refusal reaches who sent it: every encoder writes field 1 first.
function requestIdOf(data: Uint8Array): number {
  const [tag, last] = [data[0], data.subarray(1, 6).findIndex((byte) => byte < 0x80)];
  return tag === 0x08 && last >= 0 ? protobuf.Reader.create(data.subarray(1)).uint32() : 0;
}
