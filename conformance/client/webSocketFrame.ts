/** The opcodes of WebSocket frames (RFC 6455, section 5.2). */
export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Encodes a WebSocket frame of a server, which is not masked. `isLast` is the FIN bit. */
export function encodeWebSocketFrame(opcode: number, payload: Uint8Array, isLast = true): Buffer {
  const first = (isLast ? 0x80 : 0) | opcode;
  return Buffer.concat([header(first, payload.length), payload]);
}

function header(first: number, length: number): Buffer {
  if (length < 126) return Buffer.from([first, length]);
  if (length <= 0xffff) return Buffer.from([first, 126, length >> 8, length & 0xff]);
  const bytes = Buffer.alloc(10);
  bytes[0] = first;
  bytes[1] = 127;
  bytes.writeBigUInt64BE(BigInt(length), 2);
  return bytes;
}

/** Encodes a message as WebSocket fragments of at most `fragmentBytes` bytes, which may cut a character. */
export function encodeFragments(opcode: number, payload: Uint8Array, fragmentBytes: number): readonly Buffer[] {
  const fragments: Buffer[] = [];
  for (let start = 0; start < payload.length; start += fragmentBytes) {
    const isLast = start + fragmentBytes >= payload.length;
    const part = payload.subarray(start, start + fragmentBytes);
    fragments.push(encodeWebSocketFrame(start === 0 ? opcode : opcodes.continuation, part, isLast));
  }
  return fragments;
}
