/** Max bytes of a frame from a client. The server closes the connection, and with it the session, over a larger one. */
export const maxFrameBytes = 1024 * 1024;

// Frames to the client stay under 60 KiB, because some clients break above 65,535 bytes; the rest is room for the other fields.
const maxTextBytes = 56 * 1024;

/** Bytes of one part of a TurnComplete or an ErrorResponse, so that all its parts together fit in a frame. */
export const maxPartBytes = 14 * 1024;

/** A text as pieces that each fit in one frame in either codec, cut at code point boundaries; one piece where it fits. */
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

// Halved until it fits: a unit of text takes one to six bytes as JSON.
function endOfFrameText(text: string): number {
  let end = Math.min(text.length, maxTextBytes);
  while (jsonBytes(text.slice(0, end)) > maxTextBytes) end = Math.floor(end / 2);
  // Half of a surrogate pair is no text.
  return isHighSurrogate(text.charCodeAt(end - 1)) ? end - 1 : end;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

// What has more units than bytes are allowed need not be written out to know.
const jsonBytesOver = (text: string, bytes: number): boolean => text.length > bytes || jsonBytes(text) > bytes;

/** The first items of a list that fit in so many bytes as JSON; `asText` when the list itself becomes a text of a frame. */
export function takeFitting<Item>(items: readonly Item[], bytes: number, asText = false): readonly Item[] {
  let size = 2;
  const sizeOf = (item: Item): number => {
    const json = JSON.stringify(item);
    return asText ? jsonBytes(json) : Buffer.byteLength(json);
  };
  const end = items.findIndex((item) => (size += sizeOf(item) + 1) > bytes);
  return end < 0 ? items : items.slice(0, end);
}

/** Bytes that a text takes in a JSON frame, quotes left out; the binary form is never longer. */
export const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;
