/** Max bytes of a frame from a client. The server closes the connection, and with it the session, over a larger one. */
export const maxFrameBytes = 1024 * 1024;

// Frames to the client stay under 60 KiB, because some clients fail above 65,535 bytes; the rest is for the other fields.
const maxTextBytes = 56 * 1024;

/** Max bytes of the entries of a storage in one frame, and so of each one that a client sends. */
export const maxEntriesBytes = maxTextBytes;

/** Max bytes of one field of a TurnComplete or an ErrorResponse, so that all of them together fit in a frame. */
export const maxPartBytes = 14 * 1024;

/** Splits a text into pieces that each fit in one frame in either codec, at code point boundaries; one piece if it fits. */
export function splitToFrames(text: string): readonly string[] {
  const pieces: string[] = [];
  let rest = text;
  while (jsonBytesOver(rest, maxTextBytes)) {
    const end = endOfFrameText(rest);
    pieces.push(rest.slice(0, end));
    rest = rest.slice(end);
  }
  return [...pieces, rest];
}

// Halves the piece until it fits: a UTF-16 code unit takes one to six bytes as JSON.
function endOfFrameText(text: string): number {
  let end = Math.min(text.length, maxTextBytes);
  while (jsonBytes(text.slice(0, end)) > maxTextBytes) end = Math.floor(end / 2);
  // Never between the two halves of a surrogate pair.
  return isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

// A text with more code units than the limit need not be serialised: each takes at least one byte.
const jsonBytesOver = (text: string, bytes: number): boolean => text.length > bytes || jsonBytes(text) > bytes;

/** The first items of a list that fit in `bytes` as JSON. @param asText whether it is sent as JSON text in a string. */
export function takeFitting<Item>(items: readonly Item[], bytes: number, asText = false): readonly Item[] {
  let size = 2;
  const sizeOf = (item: Item): number => {
    const json = JSON.stringify(item);
    return asText ? jsonBytes(json) : Buffer.byteLength(json);
  };
  const end = items.findIndex((item) => (size += sizeOf(item) + 1) > bytes);
  return end < 0 ? items : items.slice(0, end);
}

/** Bytes of a text in a JSON frame, without its quotes; the binary form is never longer. */
export const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;
