// Frames to the client stay under 60 KiB, because some clients break above 65,535 bytes; the rest is room for the other fields.
const bytesOfText = 56 * 1024;

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

// JSON is the longer of the two forms: it escapes.
const jsonBytes = (text: string): number => Buffer.byteLength(JSON.stringify(text)) - 2;
