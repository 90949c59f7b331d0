import { crc32, deflateSync } from 'node:zlib';

const maxColors = 256;

/**
 * Writes a picture with its most frequent 256 colours as a PNG; other pixels get the nearest of them. A picture of a page has few
 * colours but those of smoothed edges, and is a third of the size so.
 * @param {{ width: number, height: number, rgba: Uint8Array }} picture
 */
export function palettePng({ width, height, rgba }) {
  const pixels = new Uint32Array(width * height);
  for (let index = 0; index < pixels.length; index++)
    pixels[index] = (rgba[4 * index] << 16) | (rgba[4 * index + 1] << 8) | rgba[4 * index + 2];
  const counts = new Map();
  for (const color of pixels) counts.set(color, (counts.get(color) ?? 0) + 1);
  const palette = [...counts]
    .sort(([, one], [, other]) => other - one)
    .slice(0, maxColors)
    .map(([color]) => color);
  const indexes = new Map(palette.map((color, index) => [color, index]));
  for (const color of counts.keys()) if (!indexes.has(color)) indexes.set(color, nearest(palette, color));
  // Each row begins with its filter: none.
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = indexes.get(pixels[y * width + x]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // 8 bits per pixel, which is an index of the palette.
  header.set([8, 3], 8);
  const colors = Buffer.from(palette.flatMap((color) => [color >> 16, (color >> 8) & 255, color & 255]));
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    chunk('PLTE', colors),
    chunk('IDAT', deflateSync(rows, { level: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function nearest(palette, color) {
  let [best, bestDistance] = [0, Infinity];
  palette.forEach((candidate, index) => {
    const [red, green, blue] = [16, 8, 0].map((shift) => ((candidate >> shift) & 255) - ((color >> shift) & 255));
    const distance = red * red + green * green + blue * blue;
    if (distance < bestDistance) [best, bestDistance] = [index, distance];
  });
  return best;
}

function chunk(type, data) {
  const typed = Buffer.concat([Buffer.from(type), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, checksum]);
}
