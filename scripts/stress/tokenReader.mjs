// A model of the trial's own, to read tokens with and to ask how near two tokens were to each other.
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';

// The probabilities as they are, of the whole vocabulary.
const unbent = { temperature: 1, topK: 0, topP: 1, minP: 0 };

/** Opens a model file; dispose of it with `close`. */
export async function readerOf(file, { contextSize = 2048 } = {}) {
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
  // Plain attention gives the same probabilities in whatever pieces tokens are evaluated.
  const context = await weights.createContext({ contextSize: size, batchSize: 256, flashAttention: false, threads: 1 });
  const sequence = context.getSequence();

  /** The probabilities of what comes behind some tokens, the likeliest first. */
  const next = async (tokens) => {
    await sequence.clearHistory();
    const last = [tokens.at(-1), { generateNext: { probabilities: true, options: unbent } }];
    const output = await sequence.controlledEvaluate([...tokens.slice(0, -1), last]);
    return output.at(-1).next.probabilities;
  };

  return {
    text: (tokens) => weights.detokenize([...tokens], true),

    /**
     * Where two token lists first differ, the probabilities of both tokens there, and their distance. Where one list ends,
     * its token is the end of the text; where both do, the two likeliest are taken.
     */
    async parting(one, other) {
      const most = Math.min(one.length, other.length);
      let place = 0;
      while (place < most && one[place] === other[place]) place++;
      const likely = await next(one.slice(0, place));
      const ends = [one[place], other[place]].map((token) => token ?? weights.tokens.eos ?? undefined);
      const tokens = one[place] === other[place] ? [...likely.keys()].slice(0, 2) : ends;
      const [a = 0, b = 0] = tokens.map((token) => likely.get(token));
      return { place, words: tokens.map((token) => weights.detokenize([token], true)), a, b, gap: Math.abs(a - b) };
    },

    close: () => llama.dispose(),
  };
}
