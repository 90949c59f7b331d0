import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { ServerFrame } from '../../src/protocol/frames.gen.ts';
import { clientCodecs, serverCodecs, type Subprotocol } from '../../src/protocol/codec/codec.ts';

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

const opcodes = { text: 1, binary: 2, close: 8 } as const;

/** A proxy in front of a server: passes on what the client sends, and alters the frames of the server. */
export class AlteringProxy implements AsyncDisposable {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(server: Server, targetPort: number, alter: () => Alteration) {
    this.#server = server;
    this.url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`;
    server.on('connection', (client) => {
      const target = this.#track(connect(targetPort, '127.0.0.1'));
      this.#track(client).pipe(target);
      const reader = new FrameAlterer(alter(), (bytes) => client.write(bytes));
      target.on('data', (data: Buffer) => reader.push(data));
      target.on('end', () => client.end()).on('close', () => client.destroy());
      client.on('close', () => target.destroy());
    });
  }

  /** Starts a proxy to a server on 127.0.0.1. `alter` is called for each connection. */
  static async start(url: string, alter: () => Alteration): Promise<AlteringProxy> {
    const server = createServer();
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return new AlteringProxy(server, Number(new URL(url).port), alter);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server.close(), 'close');
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #track(socket: Socket): Socket {
    this.#sockets.add(socket);
    socket.setNoDelay();
    return socket.on('error', () => {}).on('close', () => this.#sockets.delete(socket));
  }
}

/** Reads what a server sends: HTTP is passed on, and the frames of a WebSocket are altered. */
class FrameAlterer {
  readonly #alteration: Alteration;
  readonly #write: (bytes: Uint8Array) => void;
  #mode: 'head' | 'http' | Subprotocol = 'head';
  #rest: Buffer = Buffer.alloc(0);

  constructor(alteration: Alteration, write: (bytes: Uint8Array) => void) {
    this.#alteration = alteration;
    this.#write = write;
  }

  push(data: Buffer): void {
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
      this.#write(webSocketFrame(isBinary ? opcodes.binary : opcodes.text, Buffer.from(altered)));
    }
  }

  #take(length: number): Buffer {
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return taken;
  }
}

function webSocketFrame(opcode: number, payload: Buffer): Buffer {
  const head = payload.length < 126 ? Buffer.alloc(2) : payload.length < 65_536 ? Buffer.alloc(4) : Buffer.alloc(10);
  head[0] = 0x80 + opcode;
  head[1] = head.length === 2 ? payload.length : head.length === 4 ? 126 : 127;
  if (head.length === 4) head.writeUInt16BE(payload.length, 2);
  if (head.length === 10) head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, payload]);
}
