// Tiny vocabularies of a few hundred tokens: the special tokens of a family, all bytes, and a few frequent merges.
import { tokenType } from './gguf.mjs';

const pairs = ['t h', 'i n', 'e r', 'o n', 'a t', 'o r', 'th e', 'i s', 'in g', 's t', 'r e', 'a n', 'an d'];

/**
 * Byte-level BPE, with control tokens and user-defined tokens before the bytes.
 * @param {{ control: readonly string[], userDefined?: readonly string[] } & Partial<import('./gguf.mjs').TinyVocab>} vocab
 * @returns {import('./gguf.mjs').TinyVocab}
 */
export function byteLevelVocab({ control, userDefined = [], ...rest }) {
  const space = byteCharacter(0x20);
  const merges = [...pairs, `${space} t`, `${space}t he`, `${space} a`];
  const words = [...byteCharacters, ...merges.map((pair) => pair.replace(' ', ''))];
  return {
    model: 'gpt2',
    tokens: [...control, ...userDefined, ...words],
    types: [
      ...control.map(() => tokenType.control),
      ...userDefined.map(() => tokenType.userDefined),
      ...words.map(() => tokenType.normal),
    ],
    merges,
    ...rest,
  };
}

/** SentencePiece with byte fallback; the first token is the unknown token. */
export function sentencePieceVocab({ control, ...rest }) {
  const bytes = Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`);
  const letters = Array.from({ length: 0x7f - 0x21 }, (_, index) => String.fromCharCode(0x21 + index));
  const merged = [...pairs, '▁ t', '▁t he', '▁ a'].map((pair) => pair.replace(' ', ''));
  const words = [...merged, '▁', ...letters];
  return {
    model: 'llama',
    tokens: ['<unk>', ...control, ...bytes, ...words],
    types: [
      tokenType.unknown,
      ...control.map(() => tokenType.control),
      ...bytes.map(() => tokenType.byte),
      ...words.map(() => tokenType.normal),
    ],
    scores: [0, ...control.map(() => 0), ...bytes.map(() => 0), ...words.map((_, index) => -1 - index)],
    unknown: 0,
    addSpacePrefix: true,
    ...rest,
  };
}

// Byte-level BPE writes each byte as one character: itself if printable, else one from beyond Latin-1 (as GPT-2 does).
const visible = (byte) => (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
export const byteCharacters = Array.from({ length: 256 }, (_, byte) => byteCharacter(byte));

export function byteCharacter(byte) {
  if (visible(byte)) return String.fromCharCode(byte);
  let hidden = 0;
  for (let before = 0; before < byte; before++) if (!visible(before)) hidden++;
  return String.fromCharCode(0x100 + hidden);
}
