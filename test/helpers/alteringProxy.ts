import { encodeWebSocketFrame, opcodes } from '../../conformance/client/webSocketFrame.ts';
import type { ServerFrame } from '../../src/protocol/frames.gen.ts';
import { clientCodecs, serverCodecs, type Subprotocol } from '../../src/protocol/codec/codec.ts';
import { TcpProxy } from './tcpProxy.mjs';

/** What a proxy changes in what a server sends. Each connection gets its own. */
export interface Alteration {
  /** The frames that the client gets for one of the server. */
  readonly frames?: (frame: ServerFrame) => readonly ServerFrame[];
  /** Changes the text of a frame in JSON. */
  readonly text?: (text: string) => string;
  /** Changes the code of a close frame. */
  readonly closeCode?: (code: number) => number;
  /** Sends text as binary messages, and the reverse. */
  readonly swapsKinds?: boolean;
}

/** Starts a proxy that alters the frames of a server on 127.0.0.1. `alter` is called for each connection. */
export const startAlteringProxy = (url: string, alter: () => Alteration): Promise<TcpProxy> =>
  TcpProxy.start(url, {
    alter: () => {
      const alterer = new FrameAlterer(alter());
      return (bytes) => alterer.push(bytes);
    },
  });

/** Reads what a server sends: HTTP is passed on, and the frames of a WebSocket are altered. */
class FrameAlterer {
  readonly #alteration: Alteration;
  #mode: 'head' | 'http' | Subprotocol = 'head';
  #rest: Buffer = Buffer.alloc(0);
  readonly #written: Uint8Array[] = [];

  constructor(alteration: Alteration) {
    this.#alteration = alteration;
  }

  /** Returns what the client gets for bytes of the server. */
  push(data: Buffer): Buffer {
    this.#push(data);
    return Buffer.concat(this.#written.splice(0));
  }

  #push(data: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, data]);
    if (this.#mode === 'head') this.#readHead();
    if (this.#mode === 'http') this.#write(this.#take(this.#rest.length));
    if (this.#mode === 'head' || this.#mode === 'http') return;
    for (let frame = this.#takeFrame(); frame; frame = this.#takeFrame()) this.#pass(frame, this.#mode);
  }

  #readHead(): void {
    const end = this.#rest.indexOf('\r\n\r\n');
    if (end < 0) return;
    const head = this.#rest.subarray(0, end).toString();
    if (!head.startsWith('HTTP/1.1 101')) return void (this.#mode = 'http');
    this.#write(this.#take(end + 4));
    this.#mode = /turngraph\.v1\.proto/.test(head) ? 'turngraph.v1.proto' : 'turngraph.v1.json';
  }

  // A server masks nothing, and ours sends no fragments.
  #takeFrame(): { readonly opcode: number; readonly payload: Buffer; readonly bytes: Buffer } | undefined {
    if (this.#rest.length < 2) return undefined;
    const short = (this.#rest[1] ?? 0) & 0x7f;
    const head = short < 126 ? 2 : short === 126 ? 4 : 10;
    if (this.#rest.length < head) return undefined;
    const length =
      short < 126 ? short : short === 126 ? this.#rest.readUInt16BE(2) : Number(this.#rest.readBigUInt64BE(2));
    if (this.#rest.length < head + length) return undefined;
    const bytes = this.#take(head + length);
    return { opcode: (bytes[0] ?? 0) & 0x0f, payload: bytes.subarray(head), bytes };
  }

  #pass(
    { opcode, payload, bytes }: { readonly opcode: number; readonly payload: Buffer; readonly bytes: Buffer },
    mode: Subprotocol,
  ): void {
    const { frames, text = (same) => same, closeCode, swapsKinds = false } = this.#alteration;
    if (opcode === opcodes.close && closeCode && payload.length >= 2) {
      payload.writeUInt16BE(closeCode(payload.readUInt16BE(0)), 0);
      return this.#write(bytes);
    }
    if (opcode !== opcodes.text && opcode !== opcodes.binary) return this.#write(bytes);
    const decoded = clientCodecs[mode].decode(payload);
    if (!decoded.ok) throw decoded.fault;
    const isBinary = (mode === 'turngraph.v1.proto') !== swapsKinds;
    for (const frame of frames ? frames(decoded.frame) : [decoded.frame]) {
      const encoded = serverCodecs[mode].encode(frame);
      const altered = typeof encoded === 'string' ? text(encoded) : encoded;
      this.#write(encodeWebSocketFrame(isBinary ? opcodes.binary : opcodes.text, Buffer.from(altered)));
    }
  }

  #write(bytes: Uint8Array): void {
    this.#written.push(bytes);
  }

  #take(length: number): Buffer {
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return taken;
  }
}
