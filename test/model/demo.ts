import { fileURLToPath } from 'node:url';
import { getLlama, LlamaLogLevel, type Llama, type LlamaContext, type LlamaModel } from 'node-llama-cpp';
import { BackgroundGate } from '../../src/inference/llama/batching/backgroundGate.ts';
import { holdContexts, hookBatches } from '../../src/inference/llama/nativePatches.ts';
import { ThreadCap } from '../../src/inference/llama/threads/batchThreads.ts';
import { DeferredQueue } from '../../src/inference/llama/batching/batchScheduler.ts';
import { grammarCache } from '../../src/inference/llama/sampling/grammarCache.ts';
import { probeChatTemplate } from '../../src/chat/template/chatTemplate.ts';
import { SlotPool } from '../../src/inference/llama/kvCache/slots.ts';
import { LlamaSequence } from '../../src/inference/llama/sequence.ts';
import { PromptRenderer } from '../../src/inference/llama/promptRenderer.ts';
import { Tokenizer } from '../../src/inference/decoding/tokenizer.ts';

/** The bundled model. */
export const demoFile = fileURLToPath(new URL('../../models/turngraph-demo.gguf', import.meta.url));

/** The parts of the loaded demo model, so that a test can read tokens and caches. */
export interface Demo {
  readonly llama: Llama;
  readonly weights: LlamaModel;
  readonly tokenizer: Tokenizer;
  readonly renderer: PromptRenderer;
  readonly open: (slots: number) => Promise<{
    context: LlamaContext;
    slots: SlotPool;
    deferredQueue: DeferredQueue;
    sequence: () => LlamaSequence;
  }>;
  readonly close: () => Promise<void>;
}

export const contextSize = 1024;

export async function openDemo(): Promise<Demo> {
  const llama = await getLlama({ build: 'never', gpu: false, maxThreads: 0, logLevel: LlamaLogLevel.disabled });
  const weights = await llama.loadModel({ modelPath: demoFile });
  holdContexts(weights);
  const tokenizer = new Tokenizer(weights);
  const chatTemplate = probeChatTemplate(weights.fileInfo.metadata.tokenizer.chat_template, { bos: '', eos: '' });
  const renderer = new PromptRenderer(chatTemplate, tokenizer);
  const cache = grammarCache(weights);
  const open = async (sequences: number) => {
    const context = await weights.createContext({
      sequences,
      contextSize,
      batchSize: 256,
      flashAttention: true,
      threads: 1,
    });
    hookBatches(context, { onStart: () => {}, onEnd: () => {} });
    const slots = new SlotPool(context);
    const deferredQueue = new DeferredQueue();
    const parts = {
      label: '',
      slots,
      reserve: async () => {},
      stateSwap: undefined,
      gate: new BackgroundGate(),
      threadCap: new ThreadCap(),
      promptCache: undefined,
      deferredQueue,
      prompts: renderer,
      grammarCache: cache,
      replyMarks: chatTemplate.replyMarks,
      contextSize,
      prefillChunkTokens: 256,
      onClose: () => {},
    };
    return { context, slots, deferredQueue, sequence: () => new LlamaSequence(parts) };
  };
  return { llama, weights, tokenizer, renderer, open, close: () => llama.dispose() };
}
