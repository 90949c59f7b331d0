// Frames to the client stay under 60 KiB, because some clients break above 65,535 bytes; the rest is room for the other fields.
const bytesOfText = 56 * 1024;

/** Bytes of one part of a TurnComplete or an ErrorResponse, so that all its parts together fit in a frame. */
export const bytesOfPart = 14 * 1024;

/** A text as pieces that each fit in one frame in either codec, cut at code point boundaries; one piece where it fits. */
export function inPieces(text: string): readonly string[] {
  if (jsonBytes(text) <= bytesOfText) return [text];
  const pieces: string[] = [];
  let piece: string[] = [];
  let size = 0;
  for (const point of text) {
    const bytes = jsonBytes(point);
    if (size + bytes > bytesOfText) {
      pieces.push(piece.join(''));
      piece = [];
      size = 0;
    }
    piece.push(point);
    size += bytes;
  }
  return [...pieces, piece.join('')];
}

/** The first items of a list that fit in so many bytes as JSON. */
export function fitting<Item>(items: readonly Item[], bytes: number): readonly Item[] {
  let size = 2;
  const end = items.findIndex((item) => (size += Buffer.byteLength(JSON.stringify(item)) + 1) > bytes);
  return end < 0 ? items : items.slice(0, end);
}

/** Bytes that a text takes in a JSON frame, quotes left out; the binary form is never longer. */
export const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;
