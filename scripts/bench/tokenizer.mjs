// The tokeniser of a model, without its weights: the benchmark counts for itself.
import { library } from './baseline/context.mjs';

/** Opens the vocabulary of a file; `count` gives the tokens of a text in which control tokens are such. */
export async function openVocabulary(file) {
  const llama = await library();
  const model = await llama.loadModel({ modelPath: file, vocabOnly: true });
  return { count: (text) => model.tokenize(text, true).length, close: () => llama.dispose() };
}
