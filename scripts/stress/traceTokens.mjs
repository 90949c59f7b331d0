// Traces the tokens that llama.cpp really has in its KV cache, after templates, prefix reuse and restored states.
/** @import { LlamaContextSequence, Token } from 'node-llama-cpp' */

/**
 * The tokens of a sequence after a generation, or after its state was read from a file or written to one.
 * @typedef {object} TokenTrace
 * @property {'evaluated' | 'restored' | 'saved'} kind
 * @property {number} [prompt] After a generation: how many of the tokens are the prompt.
 * @property {readonly Token[]} tokens
 */

/**
 * Wraps three methods of all sequences of node-llama-cpp in this process.
 * @param {LlamaContextSequence} prototype
 * @param {(trace: TokenTrace) => void} record
 * @returns {() => void} Removes the wrappers.
 */
export function traceTokens(prototype, record) {
  const { evaluate, loadStateFromFile, saveStateToFile } = prototype;
  const tokensInCache = (sequence) => [...sequence.contextTokens];

  prototype.evaluate = async function* (tokens, options) {
    const prompt = this.contextTokens.length + tokens.length;
    try {
      return yield* evaluate.call(this, tokens, options);
    } finally {
      if (!this.disposed) record({ kind: 'evaluated', prompt, tokens: tokensInCache(this) });
    }
  };
  prototype.loadStateFromFile = async function (...args) {
    await loadStateFromFile.apply(this, args);
    record({ kind: 'restored', tokens: tokensInCache(this) });
  };
  prototype.saveStateToFile = async function (...given) {
    const saved = await saveStateToFile.apply(this, given);
    record({ kind: 'saved', tokens: tokensInCache(this) });
    return saved;
  };
  return () => Object.assign(prototype, { evaluate, loadStateFromFile, saveStateToFile });
}
