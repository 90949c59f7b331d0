import { createHash, randomBytes } from 'node:crypto';
import { connect } from 'node:net';

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 };

/**
 * A WebSocket client for text messages over a TCP socket, so that the faults of a hand-written one can be planted in it.
 * `listener` has `open()`, `message(text)`, `end(code)` and `refused(status)`.
 */
export class MiniSocket {
  #tcp;
  #listener;
  #has;
  #buffer = Buffer.alloc(0);
  #isOpen = false;
  #hasEnded = false;
  #key = randomBytes(16).toString('base64');
  #fragments = [];
  #closeCode = 1006;

  constructor(url, { subprotocol, token, has }, listener) {
    const { hostname, port, pathname, search } = new URL(url);
    this.#has = has;
    this.#listener = listener;
    this.#tcp = connect(Number(port), hostname, () =>
      this.#requestUpgrade(`${hostname}:${port}`, `${pathname}${search}`, subprotocol, token),
    );
    this.#tcp.setNoDelay(true);
    this.#tcp.on('data', (data) => this.#read(data));
    this.#tcp.on('error', () => {});
    this.#tcp.on('close', () => this.#end());
  }

  send(text) {
    this.#write(opcodes.text, Buffer.from(text));
  }

  close() {
    if (this.#has('breaks-off')) return this.#tcp.destroy();
    this.#closeCode = 1000;
    this.#write(opcodes.close, Buffer.from([1000 >> 8, 1000 & 0xff]));
  }

  #requestUpgrade(host, path, subprotocol, token) {
    const offer = subprotocol ? `Sec-WebSocket-Protocol: ${subprotocol}\r\n` : '';
    const authorization = token && !this.#has('no-token') ? `Authorization: Bearer ${token}\r\n` : '';
    this.#tcp.write(
      `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
        `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${this.#key}\r\n${offer}${authorization}\r\n`,
    );
  }

  #read(data) {
    this.#buffer = Buffer.concat([this.#buffer, data]);
    if (!this.#isOpen && !this.#readResponse()) return;
    if (this.#has('read-is-frame')) {
      const whole = this.#buffer;
      this.#buffer = Buffer.alloc(0);
      // What begins within a frame may look like a close or a ping.
      return void (whole[0] === 0x81 && this.#readFrame(whole));
    }
    for (let size; (size = this.#readFrame(this.#buffer)) > 0;) this.#buffer = this.#buffer.subarray(size);
  }

  #readResponse() {
    const end = this.#buffer.indexOf('\r\n\r\n');
    if (end < 0) return false;
    const head = this.#buffer.subarray(0, end).toString();
    const status = Number(head.split(' ')[1]);
    const accept = createHash('sha1').update(`${this.#key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
    if (status !== 101 || !head.includes(accept)) {
      this.#hasEnded = true;
      this.#tcp.destroy();
      this.#listener.refused(status);
      return false;
    }
    this.#buffer = this.#buffer.subarray(end + 4);
    this.#isOpen = true;
    this.#listener.open();
    return this.#buffer.length > 0;
  }

  // Returns the size of the frame; 0: it is not complete.
  #readFrame(buffer) {
    if (buffer.length < 2) return 0;
    const [first, second] = buffer;
    let length = second & 0x7f;
    let offset = 2;
    if (length === 126) {
      if (buffer.length < 4) return 0;
      length = buffer.readUInt16BE(2);
      offset = 4;
    } else if (length === 127) {
      if (buffer.length < 10) return 0;
      length = Number(buffer.readBigUInt64BE(2));
      offset = 10;
    }
    if (buffer.length < offset + length) return 0;
    this.#receive(first & 0x0f, buffer.subarray(offset, offset + length), first >= 0x80);
    return offset + length;
  }

  #receive(opcode, payload, isLast) {
    if (opcode === opcodes.ping) {
      if (this.#has('late-pong')) setTimeout(() => this.#write(opcodes.pong, payload), 400);
      else if (!this.#has('no-pong')) this.#write(opcodes.pong, payload);
    } else if (opcode === opcodes.close) {
      this.#closeCode = payload.length >= 2 ? payload.readUInt16BE(0) : 1005;
      this.#write(opcodes.close, payload);
      this.#tcp.end();
    } else if (opcode !== opcodes.pong) {
      if (this.#has('fragment-is-message')) return this.#listener.message(payload.toString());
      this.#fragments.push(Buffer.from(payload));
      if (!isLast) return;
      const fragments = this.#fragments.splice(0);
      const isApart = this.#has('decodes-fragments-apart');
      const text = isApart ? fragments.map((part) => part.toString()).join('') : Buffer.concat(fragments).toString();
      this.#listener.message(text);
    }
  }

  #end() {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#listener.end(this.#closeCode);
  }

  #write(opcode, payload) {
    const { length } = payload;
    const size =
      length < 126 ? [length] : length <= 0xffff ? [126, length >> 8, length & 0xff] : [127, ...bytesOf(length)];
    const isMasked = !this.#has('no-mask');
    const mask = isMasked ? randomBytes(4) : Buffer.alloc(0);
    size[0] |= isMasked ? 0x80 : 0;
    const body = isMasked ? payload.map((byte, index) => byte ^ mask[index & 3]) : payload;
    this.#tcp.write(Buffer.concat([Buffer.from([0x80 | opcode, ...size]), mask, body]));
  }
}

function bytesOf(length) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(length));
  return bytes;
}
