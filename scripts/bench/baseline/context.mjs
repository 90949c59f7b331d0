// A model and a context as the engine of turngraph makes them, with nothing of turngraph in between.
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';

/** The library, told what the engine tells it. */
export const library = () =>
  getLlama({
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    gpu: 'auto',
    maxThreads: 0,
    logLevel: LlamaLogLevel.disabled,
  });

/** Opens a model with so many sequences of so many tokens (0 = as many as the model was trained with, up to 8192). */
export async function openContext({ file, contextSize, sequences, threads }) {
  const llama = await library();
  const model = await llama.loadModel({ modelPath: file });
  const context = await model.createContext({
    contextSize: contextSize || Math.min(8192, model.trainContextSize),
    sequences,
    batchSize: 256,
    flashAttention: true,
    threads,
  });
  return { llama, model, context, sequences: Array.from({ length: sequences }, () => context.getSequence()) };
}
