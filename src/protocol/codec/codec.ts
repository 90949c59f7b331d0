import type { ClientFrame, ServerFrame } from '../frames.gen.ts';
import { decodeBinary, encodeBinary } from './binary.ts';
import type { Envelope, Frames, DecodeResult } from './frame.ts';
import { decodeJson, encodeJson } from './json.ts';

/** Codec of one side of the connection: encodes its own frames and decodes those of the other side. */
export interface Codec<Incoming, Outgoing> {
  readonly subprotocol: Subprotocol;
  /** Whether frames are sent as binary WebSocket messages; else as text. */
  readonly binary: boolean;
  /** Encodes a frame: text for JSON, bytes for protobuf. */
  encode(frame: Outgoing): string | Uint8Array<ArrayBuffer>;
  /** Decodes a frame. Never throws: errors are in the result. The JSON codec also accepts UTF-8 bytes. */
  decode(data: string | Uint8Array): DecodeResult<Incoming>;
}

/** The name of a WebSocket subprotocol of turngraph. */
export type Subprotocol = 'turngraph.v1.proto' | 'turngraph.v1.json';

export type Codecs<Incoming, Outgoing> = { readonly [Name in Subprotocol]: Codec<Incoming, Outgoing> };

/** The codecs of the server: decode client frames, encode server frames. */
export const serverCodecs: Codecs<ClientFrame, ServerFrame> = codecs('ClientFrame');

/** The codecs of a client: decode server frames, encode client frames. */
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
