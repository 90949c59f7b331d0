// Which tokens of a large vocabulary a random model prefers, so that its calls come to an end.
import { byteCharacter } from '../../gguf/vocabulary.mjs';

const temperature = 1.5;

/**
 * The characters of ASCII, the marks that end reasoning, and the end of generation: together half of the probability, at the
 * temperature of the strict checks; all other tokens have the other half.
 * @param {import('../../gguf/gguf.mjs').TinyVocab} vocab
 * @returns {import('../../gguf/gguf.mjs').LikelyTokens}
 */
export function likelyTokens({ tokens, eos }) {
  const ascii = Array.from({ length: 0x7f - 0x21 }, (_, index) => String.fromCharCode(0x21 + index));
  const wanted = new Set([...ascii, '▁', '\n', byteCharacter(0x20), byteCharacter(0x0a), '</think>', '[/THINK]']);
  const ids = [...tokens.keys()].filter((id) => wanted.has(tokens[id]) || id === eos);
  return { ids, logits: temperature * Math.log((tokens.length - ids.length) / ids.length) };
}
