// Compares tokens of llama.cpp with those of the reference tokenizer.
import { isUserDefined } from '../../gguf/tokenizerJson.mjs';

/**
 * A tokenizer: the token ids of a text as plain text, or as a prompt with control tokens.
 * @typedef {object} IdTokenizer
 * @property {(text: string) => readonly number[]} plain
 * @property {(text: string) => readonly number[]} prompt
 */

/**
 * @typedef {object} TokenComparison
 * @property {number} equal Texts of equal tokens.
 * @property {string[]} onlyNfc Texts whose tokens are equal once the text is in Unicode NFC.
 * @property {string[]} known One sentence for each text that llama.cpp is known to tokenize in another way.
 * @property {string[]} different One sentence for each other text.
 */

/**
 * The reference tokenizer of a package. As plain text it knows no control tokens, as llama.cpp.
 * @param {new (tokenizer: object, config: object) => { encode: (text: string, options: object) => { ids: number[] } }} Tokenizer
 * @param {{ tokenizer: import('../../gguf/tokenizerJson.mjs').TokenizerJson, config: object }} files
 * @returns {IdTokenizer & { addsBos: (bos: number | undefined) => boolean }}
 */
export function referenceTokenizer(Tokenizer, { tokenizer, config }) {
  const whole = new Tokenizer(tokenizer, config);
  const withoutControl = { ...tokenizer, added_tokens: tokenizer.added_tokens.filter(isUserDefined) };
  const plain = new Tokenizer(withoutControl, { ...config, added_tokens_decoder: undefined });
  const encode = (own, text) => own.encode(text, { add_special_tokens: false }).ids;
  return {
    plain: (text) => encode(plain, text),
    prompt: (text) => encode(whole, text),
    addsBos: (bos) => bos !== undefined && whole.encode('a', { add_special_tokens: true }).ids[0] === bos,
  };
}

/**
 * Compares the tokens of texts as plain text.
 * @param {ReadonlyMap<string, string>} texts by name
 * @param {{ own: Pick<IdTokenizer, 'plain'>, reference: Pick<IdTokenizer, 'plain'>, known?: ReadonlyMap<string, string> }} tokenizers
 * `known`: why llama.cpp tokenizes a text in another way, by its name.
 * @returns {TokenComparison}
 */
export function compareTokens(texts, { own, reference, known }) {
  const result = { equal: 0, onlyNfc: [], known: [], different: [] };
  for (const [name, text] of texts) {
    const difference = differenceOf(own.plain(text), reference.plain(text));
    if (difference === undefined) result.equal++;
    else if (isNfcOnly(text, own, reference)) result.onlyNfc.push(name);
    else if (known?.has(name)) result.known.push(`${name}: ${known.get(name)}`);
    else result.different.push(`${name}: ${difference}`);
  }
  return result;
}

/** Where two lists of token ids differ; undefined: nowhere. */
export function differenceOf(own, reference) {
  const at = own.findIndex((id, index) => id !== reference[index]);
  if (at < 0 && own.length === reference.length) return undefined;
  const start = at < 0 ? own.length : at;
  const near = (ids) => ids.slice(start, start + 4).join(' ') || 'the end';
  return `${own.length} tokens instead of ${reference.length}, from token ${start} on ${near(own)} instead of ${near(reference)}`;
}

function isNfcOnly(text, own, reference) {
  const normalized = text.normalize('NFC');
  return normalized !== text && differenceOf(own.plain(normalized), reference.plain(text)) === undefined;
}
