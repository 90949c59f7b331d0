import type { Prompt } from '../dialog.ts';
import type { Completion, Engine, LoadOptions, Model } from '../engine/engine.ts';

/** How to load a model that is only asked about itself: no memory goes into caches. */
export const forInspection = { contextSize: 256, seats: 1, threads: 1, gpu: 'off' } as const satisfies LoadOptions;

/** Another engine's models, but they write nothing: each prompt is only handed on, and no prompt is too long. */
export function silentEngine(engine: Engine, onPrompt: (prompt: Prompt, model: Model) => Promise<void>): Engine {
  return {
    name: engine.name,
    needsFiles: engine.needsFiles,
    load: async (file, options) => silent(await engine.load(file, { ...options, ...forInspection }), onPrompt),
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}

const silent = (model: Model, onPrompt: (prompt: Prompt, model: Model) => Promise<void>): Model => ({
  contextSize: Infinity,
  detectedFormat: model.detectedFormat,
  notes: model.notes,
  overhead: model.overhead,
  count: (texts) => model.count(texts),
  countTools: (tools) => model.countTools(tools),
  render: (prompt) => model.render(prompt),
  figures: () => model.figures(),
  describe: model.describe?.bind(model),
  openSequence: () => ({
    async generate(prompt) {
      await onPrompt(prompt, model);
      return nothing;
    },
    warm: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  }),
  [Symbol.asyncDispose]: () => model[Symbol.asyncDispose](),
});

const nothing: Completion = {
  text: '',
  stopped: 'end',
  tokens: { prompt: 0, reused: 0, generated: 0 },
  timings: { waited: 0, firstToken: 0, total: 0 },
};
