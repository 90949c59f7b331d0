// Fields of the protobuf encoding by their numbers, also those that the generated code does not know.

const wireTypes = { varint: 0, fixed64: 1, lengthDelimited: 2, fixed32: 5 } as const;

/** A field with a whole number. */
export const varintField = (number: number, value: number): Uint8Array =>
  Buffer.from([...varint((number << 3) | wireTypes.varint), ...varint(value)]);

/** A field with bytes, text, a message, or an item of a list. */
export const lengthDelimited = (number: number, value: Iterable<number>): Uint8Array => {
  const bytes = Uint8Array.from(value);
  return Buffer.concat([
    Buffer.from([...varint((number << 3) | wireTypes.lengthDelimited), ...varint(bytes.length)]),
    bytes,
  ]);
};

/** A frame with a request id and the bytes after it, which can be those that no encoder would write. */
export const frameBytes = (requestId: number, ...rest: readonly Iterable<number>[]): Uint8Array =>
  Uint8Array.from([varintField(1, requestId), ...rest].flatMap((bytes) => [...bytes]));

/** A field with four bytes. */
export function fixed32(number: number, value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return Buffer.concat([Buffer.from(varint((number << 3) | wireTypes.fixed32)), bytes]);
}

/** A field with a double. */
export function double(number: number, value: number): Uint8Array {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([Buffer.from(varint((number << 3) | wireTypes.fixed64)), bytes]);
}

/** Changes the message of an encoded frame, which is its only field with a length; the others are whole numbers. */
export function changeBody(frame: Uint8Array, change: (body: Uint8Array) => Uint8Array): Uint8Array {
  for (let offset = 0; offset < frame.length;) {
    const tag = readVarint(frame, offset);
    const value = readVarint(frame, tag.end);
    if ((tag.value & 7) === wireTypes.lengthDelimited) {
      const end = value.end + value.value;
      const changed = lengthDelimited(tag.value >>> 3, change(frame.subarray(value.end, end)));
      return Buffer.concat([frame.subarray(0, offset), changed, frame.subarray(end)]);
    }
    offset = value.end;
  }
  return frame;
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest & 0x7f) | 0x80);
  return [...bytes, rest];
}

function readVarint(bytes: Uint8Array, start: number): { readonly value: number; readonly end: number } {
  let value = 0;
  for (let index = start, factor = 1; ; index++, factor *= 128) {
    const byte = bytes[index] ?? 0;
    value += (byte & 0x7f) * factor;
    if (byte < 0x80) return { value, end: index + 1 };
  }
}
