import type { ClientFrame, ServerFrame } from '../frames.gen.ts';
import { decodeBinary, encodeBinary } from './binary.ts';
import type { Envelope, Frames } from './frame.ts';
import { decodeJson, encodeJson } from './json.ts';
import type { DecodeResult } from './frameReader.ts';

/** One side's view of a subprotocol: it decodes the frames of the other side and encodes its own. */
export interface Codec<Incoming, Outgoing> {
  readonly subprotocol: Subprotocol;
  /** Whether frames travel as binary WebSocket messages rather than text. */
  readonly binary: boolean;
  encode(frame: Outgoing): string | Uint8Array<ArrayBuffer>;
  /** Never throws. Bytes are taken for the UTF-8 of the text where the subprotocol is JSON. */
  decode(data: string | Uint8Array): DecodeResult<Incoming>;
}

/** The name of a WebSocket subprotocol of turngraph. */
export type Subprotocol = 'turngraph.v1.proto' | 'turngraph.v1.json';

/** A side's codecs by the name of their subprotocol. */
export type Codecs<Incoming, Outgoing> = { readonly [Name in Subprotocol]: Codec<Incoming, Outgoing> };

/** The codecs of the server. */
export const serverCodecs: Codecs<ClientFrame, ServerFrame> = codecs('ClientFrame');

/** The codecs of a client. */
export const clientCodecs: Codecs<ServerFrame, ClientFrame> = codecs('ServerFrame');

function codecs<E extends Envelope>(incoming: E): Codecs<Frames[E], ClientFrame | ServerFrame> {
  return {
    'turngraph.v1.proto': {
      subprotocol: 'turngraph.v1.proto',
      binary: true,
      encode: encodeBinary,
      decode: (data) => decodeBinary(incoming, data),
    },
    'turngraph.v1.json': {
      subprotocol: 'turngraph.v1.json',
      binary: false,
      encode: encodeJson,
      decode: (data) => decodeJson(incoming, data),
    },
  };
}
