// Opens a model and a context with the settings of turngraph's engine, but directly with node-llama-cpp.
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';

/** node-llama-cpp with the options of the engine. */
export const library = () =>
  getLlama({
    build: 'never',
    skipDownload: true,
    progressLogs: false,
    gpu: 'auto',
    maxThreads: 0,
    logLevel: LlamaLogLevel.disabled,
  });

/** Opens a model; `contextSize` is in tokens per sequence, 0 = the model's training context, at most 8192. */
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
