import { fileURLToPath } from 'node:url';
import { getLlama, LlamaLogLevel, type Llama, type LlamaContext, type LlamaModel } from 'node-llama-cpp';
import { Beside } from '../../src/engine/llama/batching/deferredQueue.ts';
import { Grammars } from '../../src/engine/llama/sampling/grammarCache.ts';
import { layoutOf } from '../../src/engine/llama/prompt/chatTemplate.ts';
import { Seats } from '../../src/engine/llama/kvCache/slots.ts';
import { LlamaSequence } from '../../src/engine/llama/sequence.ts';
import { PromptTemplate } from '../../src/engine/llama/prompt/promptRenderer.ts';
import { Vocabulary } from '../../src/engine/llama/tokenizer/tokenizer.ts';

/** The bundled model. */
export const demoFile = fileURLToPath(new URL('../../models/turngraph-demo.gguf', import.meta.url));

/** The demo model taken apart, so that a test sees tokens and caches. */
export interface Demo {
  readonly llama: Llama;
  readonly weights: LlamaModel;
  readonly vocabulary: Vocabulary;
  readonly template: PromptTemplate;
  readonly open: (seats: number) => Promise<{
    context: LlamaContext;
    seats: Seats;
    beside: Beside;
    sequence: () => LlamaSequence;
  }>;
  readonly close: () => Promise<void>;
}

export const contextSize = 1024;

export async function openDemo(): Promise<Demo> {
  const llama = await getLlama({ build: 'never', gpu: false, maxThreads: 0, logLevel: LlamaLogLevel.disabled });
  const weights = await llama.loadModel({ modelPath: demoFile });
  const vocabulary = new Vocabulary(weights);
  const layout = layoutOf(weights.fileInfo.metadata.tokenizer.chat_template, { bos: '', eos: '' });
  const template = new PromptTemplate(layout, vocabulary);
  const grammars = new Grammars(weights);
  const open = async (sequences: number) => {
    const context = await weights.createContext({
      sequences,
      contextSize,
      batchSize: 256,
      flashAttention: true,
      threads: 1,
    });
    const seats = new Seats(context);
    const beside = new Beside();
    const parts = {
      seats,
      states: undefined,
      beside,
      template,
      vocabulary,
      grammars,
      contextSize,
      chunk: 256,
      onClose: () => {},
    };
    return { context, seats, beside, sequence: () => new LlamaSequence(parts) };
  };
  return { llama, weights, vocabulary, template, open, close: () => llama.dispose() };
}
