import type { Prompt } from '../dialog.ts';
import type { Engine, LoadOptions, Model } from '../engine/engine.ts';
import type { ToolDialect } from '../tools/native/toolDialect.ts';

/** Load options of a model that does not generate: minimal KV cache, one thread. */
export const captureOptions = { contextSize: 256, slots: 1, threads: 1, gpu: 'off' } as const satisfies LoadOptions;

type OnPrompt = (prompt: Prompt, model: Model) => Promise<void>;

/**
 * Wraps an engine so that prompts are captured instead of run: `onPrompt` gets each one, whatever its length, the
 * completion is empty, and answers have equal scores.
 * @param toolDialect of all models; default: their own.
 */
export function capturePrompts(engine: Engine, onPrompt: OnPrompt, toolDialect?: ToolDialect): Engine {
  return {
    name: engine.name,
    needsFiles: engine.needsFiles,
    async load(file, options) {
      const model = await engine.load(file, { ...options, ...captureOptions });
      return captureModel(model, onPrompt, toolDialect ?? model.toolDialect);
    },
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}

const captureModel = (model: Model, onPrompt: OnPrompt, toolDialect: ToolDialect): Model => ({
  contextSize: Infinity,
  toolDialect,
  notes: model.notes,
  overhead: model.overhead,
  replyMarks: model.replyMarks,
  count: (texts) => model.count(texts),
  countTools: (tools) => model.countTools(tools),
  render: (prompt) => model.render(prompt),
  stats: () => model.stats(),
  describe: model.describe?.bind(model),
  openSequence: ({ label = '' } = {}) => ({
    label,
    async generate(prompt) {
      await onPrompt(prompt, model);
      return { ...noInference, text: '' };
    },
    async score(prompt, answers) {
      await onPrompt(prompt, model);
      return { ...noInference, scores: answers.map(() => -Math.log(answers.length)) };
    },
    prefill: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }),
  [Symbol.asyncDispose]: () => model[Symbol.asyncDispose](),
});

const noInference = {
  finishReason: 'end',
  tokens: { prompt: 0, reused: 0, generated: 0 },
  timings: { queuedMs: 0, firstTokenMs: 0, totalMs: 0 },
} as const;
