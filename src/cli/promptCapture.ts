import type { Prompt } from '../chat/dialog.ts';
import type { Engine, LoadOptions, Model } from '../inference/contract/engine.ts';
import type { ToolDialect } from '../chat/dialect/toolDialect.ts';

/** Load options of a model that does not generate: minimal KV cache, one thread. */
export const captureOptions = { contextSize: 256, slots: 1, threads: 1, gpu: 'off' } as const satisfies LoadOptions;

// For a model that answers one of the nodes; more context would only take memory.
const answerOptions = { ...captureOptions, contextSize: 2048, threads: 0 } as const satisfies LoadOptions;

/** What is done with prompts in place of an inference. */
export interface CaptureOptions {
  /** Gets each prompt of a node, whatever its length; the completion is empty. */
  readonly onPrompt: (prompt: Prompt, model: Model, node: string) => Promise<void>;
  /** The dialect of all models; default: their own. */
  readonly toolDialect?: ToolDialect | undefined;
  /** The node whose prompts the model answers; default: none. */
  readonly answered?: string | undefined;
}

/** Wraps an engine so that prompts are captured instead of run. */
export function capturePrompts(engine: Engine, options: CaptureOptions): Engine {
  const { toolDialect, answered } = options;
  return {
    name: engine.name,
    needsFiles: engine.needsFiles,
    async load(file, loadOptions) {
      const fixed = answered === undefined ? captureOptions : answerOptions;
      const model = await engine.load(file, { ...loadOptions, ...fixed });
      return captureModel(model, { ...options, toolDialect: toolDialect ?? model.toolDialect });
    },
    [Symbol.asyncDispose]: () => engine[Symbol.asyncDispose](),
  };
}

const captureModel = (
  model: Model,
  { onPrompt, toolDialect, answered }: CaptureOptions & { readonly toolDialect: ToolDialect },
): Model => ({
  contextSize: Infinity,
  toolDialect,
  canSpeculate: model.canSpeculate,
  limits: model.limits ?? {},
  notes: model.notes,
  overhead: model.overhead,
  replyMarks: model.replyMarks,
  count: (texts) => model.count(texts),
  countTools: (tools) => model.countTools(tools),
  render: (prompt) => model.render(prompt),
  stats: () => model.stats(),
  describe: model.describe?.bind(model),
  openSequence: (options = {}) =>
    options.label !== undefined && options.label === answered
      ? model.openSequence(options)
      : {
          label: options.label ?? '',
          async generate(prompt) {
            await onPrompt(prompt, model, options.label ?? '');
            return { ...noInference, text: '' };
          },
          async score(prompt, answers) {
            await onPrompt(prompt, model, options.label ?? '');
            return { ...noInference, scores: answers.map(() => -Math.log(answers.length)) };
          },
          prefill: async () => ({ tokens: 0, kept: 'no_cache' }),
          [Symbol.asyncDispose]: async () => undefined,
        },
  [Symbol.asyncDispose]: () => model[Symbol.asyncDispose](),
});

const noInference = {
  finishReason: 'end',
  tokens: { prompt: 0, reused: 0, generated: 0 },
  timings: { queuedMs: 0, firstTokenMs: 0, totalMs: 0 },
} as const;
