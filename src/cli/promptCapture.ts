import type { Prompt } from '../dialog.ts';
import type { Completion, Engine, LoadOptions, Model } from '../engine/engine.ts';

/** How to load a model that is only asked about itself: no memory goes into caches. */
export const captureOptions = { contextSize: 256, slots: 1, threads: 1, gpu: 'off' } as const satisfies LoadOptions;

/** Another engine's models, but they write nothing: each prompt is only handed on, and no prompt is too long. */
export function capturePrompts(engine: Engine, onPrompt: (prompt: Prompt, model: Model) => Promise<void>): Engine {
  return {
    name: engine.name,
    needsFiles: engine.needsFiles,
    load: async (file, options) => captureModel(await engine.load(file, { ...options, ...captureOptions }), onPrompt),
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}

const captureModel = (model: Model, onPrompt: (prompt: Prompt, model: Model) => Promise<void>): Model => ({
  contextSize: Infinity,
  detectedFormat: model.detectedFormat,
  notes: model.notes,
  overhead: model.overhead,
  count: (texts) => model.count(texts),
  countTools: (tools) => model.countTools(tools),
  render: (prompt) => model.render(prompt),
  stats: () => model.stats(),
  describe: model.describe?.bind(model),
  openSequence: () => ({
    async generate(prompt) {
      await onPrompt(prompt, model);
      return emptyCompletion;
    },
    prefill: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }),
  [Symbol.asyncDispose]: () => model[Symbol.asyncDispose](),
});

const emptyCompletion: Completion = {
  text: '',
  finishReason: 'end',
  tokens: { prompt: 0, reused: 0, generated: 0 },
  timings: { queuedMs: 0, firstTokenMs: 0, totalMs: 0 },
};
