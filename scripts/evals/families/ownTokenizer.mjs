// The engine's tokenizer of a model file, without its weights.
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';
import { Tokenizer } from '../../../dist/inference/decoding/tokenizer.js';

/**
 * Opens the vocabulary of a model file.
 * @returns {Promise<import('./tokens.mjs').IdTokenizer & AsyncDisposable>}
 */
export async function openOwnTokenizer(file) {
  const llama = await getLlama({ gpu: false, build: 'never', logLevel: LlamaLogLevel.error });
  const weights = await llama.loadModel({ modelPath: file, vocabOnly: true });
  const tokenizer = new Tokenizer(weights);
  const ids = (text, withControl) => [...tokenizer.tokenizeInPieces(text, withControl)].flat();
  return {
    plain: (text) => ids(text, false),
    prompt: (text) => ids(text, true),
    [Symbol.asyncDispose]: () => llama.dispose(),
  };
}
