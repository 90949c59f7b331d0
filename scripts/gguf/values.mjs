// Encodes numbers and strings as GGUF does (little endian).

const bytes = (size, write) => {
  const buffer = Buffer.alloc(size);
  write(buffer);
  return buffer;
};
export const u32 = (value) => bytes(4, (buffer) => buffer.writeUInt32LE(value));
export const i32 = (value) => bytes(4, (buffer) => buffer.writeInt32LE(value));
export const f32 = (value) => bytes(4, (buffer) => buffer.writeFloatLE(value));
export const u64 = (value) => bytes(8, (buffer) => buffer.writeBigUInt64LE(BigInt(value)));
export const string = (value) => Buffer.concat([u64(Buffer.byteLength(value)), Buffer.from(value)]);

// Metadata values: the number of the type, then the value.
export const number = (value) => Buffer.concat([u32(4), u32(value)]);
export const real = (value) => Buffer.concat([u32(6), f32(value)]);
export const flag = (value) => Buffer.concat([u32(7), Buffer.from([value ? 1 : 0])]);
export const text = (value) => Buffer.concat([u32(8), string(value)]);
export const list = (type, entries) => Buffer.concat([u32(9), u32(type), u64(entries.length), ...entries]);

const alignment = 32;

/** The number of padding bytes up to the next multiple of the alignment. */
export const padding = (length) => (alignment - (length % alignment)) % alignment;
export const padded = (piece) => Buffer.concat([piece, Buffer.alloc(padding(piece.length))]);
