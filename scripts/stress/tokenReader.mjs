// Detokenizes the tokens of a test, and compares probabilities where two outputs diverge, with a model instance of its own.
/** @import { Token } from 'node-llama-cpp' */
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';

/**
 * The first difference of two token lists.
 * @typedef {object} Divergence
 * @property {number} index
 * @property {readonly string[]} texts The text of both tokens.
 * @property {number} a Probability of the first one's token.
 * @property {number} b Probability of the other one's token.
 * @property {number} gap The difference of the probabilities.
 */

/**
 * @typedef {object} TokenReader
 * @property {(tokens: readonly Token[]) => string} text Detokenizes.
 * @property {(one: readonly Token[], other: readonly Token[]) => Promise<Divergence>} divergence
 * @property {() => Promise<void>} close
 */

// The model's own probabilities, of the whole vocabulary.
const neutralSampling = { temperature: 1, topK: 0, topP: 1, minP: 0 };

/**
 * Opens a model file; release it with `close`.
 * @param {string} file
 * @param {{ contextSize?: number }} [options]
 * @returns {Promise<TokenReader>}
 */
export async function openTokenReader(file, { contextSize = 2048 } = {}) {
  const llama = await getLlama({
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    gpu: false,
    maxThreads: 0,
    logLevel: LlamaLogLevel.disabled,
  });
  const weights = await llama.loadModel({ modelPath: file });
  const size = Math.min(contextSize, weights.trainContextSize);
  // Without flash attention the probabilities do not depend on how the tokens are split into batches.
  const context = await weights.createContext({ contextSize: size, batchSize: 256, flashAttention: false, threads: 1 });
  const sequence = context.getSequence();

  /** The probabilities of the next token, the likeliest first. */
  const next = async (tokens) => {
    await sequence.clearHistory();
    const last = [tokens.at(-1), { generateNext: { probabilities: true, options: neutralSampling } }];
    const output = await sequence.controlledEvaluate([...tokens.slice(0, -1), last]);
    return output.at(-1).next.probabilities;
  };

  return {
    text: (tokens) => weights.detokenize([...tokens], true),

    /**
     * The first difference of two token lists, and the probabilities of both tokens there. Where one list ends, its token is
     * the end of sequence; where both end, the two likeliest tokens are compared.
     */
    async divergence(one, other) {
      const length = Math.min(one.length, other.length);
      let index = 0;
      while (index < length && one[index] === other[index]) index++;
      const probabilities = await next(one.slice(0, index));
      const ends = [one[index], other[index]].map((token) => token ?? weights.tokens.eos ?? undefined);
      const tokens = one[index] === other[index] ? [...probabilities.keys()].slice(0, 2) : ends;
      const [a = 0, b = 0] = tokens.map((token) => probabilities.get(token));
      return { index, texts: tokens.map((token) => weights.detokenize([token], true)), a, b, gap: Math.abs(a - b) };
    },

    close: () => llama.dispose(),
  };
}
