import { invalidStorage } from '../invalidStorage.ts';
import zlib from 'node:zlib';

const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
/** The texts of an image that can have a card, the newest first. */
const keywords = ['ccv3', 'chara'];

export const isPng = (bytes: Uint8Array): boolean => signature.equals(bytes.subarray(0, signature.length));

/** What is wrong with any other image. */
export const noCard = 'is an image without a character card';

/** A character card in a PNG (tEXt, base64). @param warn of damage. @throws Fault INVALID_STRING_STORAGE_DATA */
export function cardInPng(bytes: Uint8Array, name: string, warn: (warning: string) => void): Uint8Array {
  const image = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const cards = new Map<string, string>();
  if (!isPng(image)) throw invalidStorage(`${name} is no PNG image; name a JSON file .kb.json`);
  let type = '';
  let other = '';
  // What follows the last chunk is not a part of the image.
  for (let at = signature.length; at < image.length && type !== 'IEND';) {
    // Each chunk has its length, its type, its data, and a checksum.
    const end = at + 8 <= image.length ? at + 8 + image.readUInt32BE(at) : Infinity;
    if (end + 4 > image.length) throw invalidStorage(`${name} ends within a chunk at byte ${at}; copy it again`);
    const data = image.subarray(at + 8, end);
    const keywordEnd = data.indexOf(0);
    const keyword = data.toString('latin1', 0, Math.min(Math.max(0, keywordEnd), 80)).toLowerCase();
    type = image.toString('latin1', at + 4, at + 8);
    if (type === 'tEXt' && keywords.includes(keyword)) {
      cards.set(keyword, data.toString('latin1', keywordEnd + 1).trim());
      // Node has it from 20.15 on.
      if ('crc32' in zlib && zlib.crc32(image.subarray(at + 4, end)) !== image.readUInt32BE(end))
        warn(`${name}: the chunk "${keyword}" has a wrong checksum (CRC), so it may be damaged; export the card again`);
    }
    if (/^[zi]TXt$/.test(type) && keywords.includes(keyword)) other = `${type} "${keyword}"`;
    at = end + 4;
  }
  const used = keywords.find((keyword) => cards.has(keyword));
  const card = cards.get(used ?? '') ?? '';
  if (used !== undefined && /^[\w+/\s-]*=*$/.test(card)) return Buffer.from(card, 'base64');
  const what = card.startsWith('{') ? 'JSON as it is' : 'damaged';
  if (used !== undefined)
    throw invalidStorage(`${name}: the chunk "${used}" is ${what}, and must be base64; export the card as PNG again`);
  throw invalidStorage(
    other === ''
      ? `${name} ${noCard} (a tEXt chunk "chara" or "ccv3"); export it as PNG again`
      : `${name} has its card in the chunk ${other}, and only tEXt is read; open it in SillyTavern and export it again`,
  );
}
