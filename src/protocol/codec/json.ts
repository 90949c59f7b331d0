import { Fault, describeError } from '../fault.ts';
import type { ClientFrame, ServerFrame } from '../frames.gen.ts';
import { messageOf, type Envelope, type Frames } from './frame.ts';
import { isUint32, jsonEncoding } from './jsonEncoding.ts';
import { frameReader, malformed, type DecodeResult } from './frameReader.ts';
import { rewriters, type FieldChange } from './fieldRewriter.ts';
import { wellFormed } from './wellFormed.ts';

/** Encodes a frame as proto3 JSON. All fields are written, except absent messages. */
export function encodeJson(frame: ClientFrame | ServerFrame): string {
  const { requestId, body } = frame;
  const message = messageOf(frame);
  const rewrite = 'seq' in frame ? withoutNulls.ServerFrame.get(body) : withoutNulls.ClientFrame.get(body);
  const fields = rewrite ? rewrite(message) : message;
  const envelope = 'seq' in frame ? { requestId, seq: frame.seq, [body]: fields } : { requestId, [body]: fields };
  const text = JSON.stringify(envelope);
  // JSON.stringify writes a lone surrogate as \\ud..., which parsers in other languages reject.
  if (!text.includes('\\ud')) return text;
  return JSON.stringify(envelope, (_, value: unknown) => (typeof value === 'string' ? wellFormed(value) : value));
}

/** Decodes a JSON frame from text or UTF-8 bytes. Never throws: errors are in the result. */
export function decodeJson<E extends Envelope>(envelope: E, data: string | Uint8Array): DecodeResult<Frames[E]> {
  let requestId = 0;
  try {
    const value = parse(data);
    requestId = requestIdOf(value);
    return { ok: true, frame: readers[envelope](value) };
  } catch (thrown) {
    // JSON.stringify overflows the stack on a `graph` or `history` value that is nested thousands of levels deep.
    const fault = thrown instanceof RangeError ? malformed('the frame nests too deeply', thrown) : Fault.from(thrown);
    return { ok: false, requestId, fault };
  }
}

const absentMessages: FieldChange = {
  matches: (shape) => 'message' in shape && !shape.repeated,
  apply: (_, value) => value ?? undefined,
};

const withoutNulls = {
  ClientFrame: rewriters('ClientFrame', absentMessages),
  ServerFrame: rewriters('ServerFrame', absentMessages),
};

const readers: { readonly [E in Envelope]: (value: unknown) => Frames[E] } = {
  ClientFrame: frameReader('ClientFrame', jsonEncoding),
  ServerFrame: frameReader('ServerFrame', jsonEncoding),
};

const utf8 = new TextDecoder('utf-8', { fatal: true });

function parse(data: string | Uint8Array): unknown {
  try {
    return JSON.parse(typeof data === 'string' ? data : utf8.decode(data));
  } catch (thrown) {
    throw malformed(`the frame is not JSON: ${describeError(thrown)}`, thrown);
  }
}

// Reads only the request id, so that the error for an invalid frame can name its request.
function requestIdOf(value: unknown): number {
  const id = typeof value === 'object' && value !== null && 'requestId' in value ? value.requestId : undefined;
  return isUint32(id) ? id : 0;
}
