import { readFile } from 'node:fs/promises';
import type { Prompt } from '../chat/dialog.ts';
import type { Engine, LoadOptions, Model } from '../inference/contract/engine.ts';
import type { ToolDialect } from '../chat/dialect/toolDialect.ts';
import { type ChatTemplate, probeChatTemplate } from '../chat/template/chatTemplate.ts';
import { compileTemplate } from '../chat/template/compileTemplate.ts';
import { renderPrompt } from '../chat/template/renderPrompt.ts';
import type { ServerOptions } from '../server/config.ts';
import { mockEngine } from '../inference/mock/engine.ts';
import { createUncachedLlamaEngine } from '../server/llamaEngine.ts';
import type { Catalogue } from '../inference/models/catalogue/catalogue.ts';
import { describeError } from '../protocol/fault.ts';
import { isOnDisk } from './catalogue.ts';
import { UsageError } from './options.ts';
import { withoutMark } from '../base/jsonLocations.ts';

/** What renders the prompts of a graph: a model, or a chat template alone. */
export interface PromptSource {
  readonly engine: Engine;
  readonly catalogue: Catalogue;
  /** The dialect of all models; undefined: their own. */
  readonly toolDialect?: ToolDialect;
  readonly render: (prompt: Prompt, model: Model) => string | Promise<string>;
  /** Whether there is a model that can answer a prompt. */
  readonly canAnswer: boolean;
}

/** The flags that name a model, or a chat template in its place. */
export interface PromptSourceFlags {
  readonly model?: string;
  readonly template?: string;
}

/**
 * Finds what renders prompts: the template, else the model, else ChatML. Says on standard error what is not as usual.
 * @param modelName that of the graph.
 * @throws UsageError when both flags are given; Error when the template cannot be used.
 */
export async function findPromptSource(
  { model, template: path }: PromptSourceFlags,
  options: ServerOptions,
  catalogue: Catalogue,
  modelName: string,
): Promise<PromptSource> {
  if (path !== undefined) {
    if (model !== undefined) throw new UsageError('--model and --template exclude each other');
    const template = await readTemplateFile(path);
    for (const note of template.notes) process.stderr.write(`warning: ${path}: ${note}\n`);
    return { ...templateSource(template), catalogue: withoutFormats(catalogue) };
  }
  if (model !== undefined || isOnDisk(catalogue, modelName)) {
    const engine = await createUncachedLlamaEngine(options);
    return { engine, catalogue, render: (prompt, loaded) => loaded.render(prompt), canAnswer: true };
  }
  process.stderr.write(`${noModelReason(modelName)}, so this is our own wording in ChatML\n`);
  const { engine, render } = templateSource(probeChatTemplate(undefined, noTokens));
  return { engine, render, catalogue, canAnswer: false };
}

// A template file names no tokens.
const noTokens = { bos: '', eos: '' };

/**
 * Reads and probes a chat template (Jinja) that is a file of its own. Its `bos_token` and `eos_token` are empty.
 * @throws Error that names the file, when it cannot be read or does not parse.
 */
export async function readTemplateFile(path: string): Promise<ChatTemplate> {
  const source = withoutMark(await readFile(path, 'utf8'));
  try {
    compileTemplate(source, noTokens);
  } catch (error) {
    throw new Error(`${path}: ${describeError(error)}`, { cause: error });
  }
  return probeChatTemplate(source, noTokens, path);
}

const templateSource = (template: ChatTemplate): Omit<PromptSource, 'catalogue'> => ({
  engine: mockEngine(),
  toolDialect: template.toolDialect,
  render: (prompt) => renderPrompt(prompt, template),
  canAnswer: false,
});

// A template stands in for the model, so that what models.json says of a model does not count.
const withoutFormats = ({ models, ...catalogue }: Catalogue): Catalogue => ({
  ...catalogue,
  models: new Map([...models].map(([name, entry]) => [name, { ...entry, tool_call_format: '' }])),
});

const noModelReason = (modelName: string): string =>
  modelName === '' ? 'no model is named' : `"${modelName}" is not on disk`;

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
