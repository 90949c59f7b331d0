/** Bytes of protobuf that no encoder would write: frames for the checks of malformed ones. */

/** A number as a varint. */
function varint(value: number): readonly number[] {
  const low = value % 0x80;
  const rest = (value - low) / 0x80;
  return rest === 0 ? [low] : [low + 0x80, ...varint(rest)];
}

/** A field that holds a number. */
export const varintField = (number: number, value: number): readonly number[] => [
  ...varint(number * 8),
  ...varint(value),
];

/** A field that holds bytes: a string, a message, or an item of a list. */
export const bytesField = (number: number, bytes: readonly number[]): readonly number[] => [
  ...varint(number * 8 + 2),
  ...varint(bytes.length),
  ...bytes,
];

/** A frame with a request id and the bytes after it. */
export const frameBytes = (requestId: number, ...rest: readonly (readonly number[])[]): Uint8Array =>
  Uint8Array.from([...varintField(1, requestId), ...rest.flat()]);
