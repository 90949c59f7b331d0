// Tokenizer of a model, loaded without its weights, to count tokens independently of the server.
import { library } from './baseline/context.mjs';

/** Opens the vocabulary of a model file; `count` counts the tokens of a text, with special tokens recognised. */
export async function openVocabulary(file) {
  const llama = await library();
  const model = await llama.loadModel({ modelPath: file, vocabOnly: true });
  return { count: (text) => model.tokenize(text, true).length, close: () => llama.dispose() };
}
