import { probeChatTemplate, type ChatTemplate } from '../chat/template/chatTemplate.ts';
import { renderPrompt } from '../chat/template/renderPrompt.ts';
import type { ServerOptions } from '../server/config.ts';
import type { Prompt } from '../chat/dialog.ts';
import type { Engine, Model } from '../inference/contract/engine.ts';
import { mockEngine } from '../inference/mock/engine.ts';
import { createUncachedLlamaEngine } from '../server/llamaEngine.ts';
import type { Catalogue } from '../inference/models/catalogue/catalogue.ts';
import type { ToolDialect } from '../chat/dialect/toolDialect.ts';
import { isOnDisk } from './localCatalogue.ts';
import { UsageError } from './options.ts';
import { readTemplateFile } from './templateFile.ts';

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

/** Where models are looked for; `modelName` is that of the graph. */
interface ModelSources {
  readonly options: ServerOptions;
  readonly catalogue: Catalogue;
  readonly modelName: string;
}

/**
 * Finds what renders prompts: the template, else the model, else ChatML. Says on standard error what is not as usual.
 * @throws UsageError when both flags are given; Error when the template cannot be used.
 */
export async function findPromptSource(
  { model, template: path }: PromptSourceFlags,
  { options, catalogue, modelName }: ModelSources,
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
  const { engine, render } = templateSource(probeChatTemplate(undefined, { bos: '', eos: '' }));
  return { engine, render, catalogue, canAnswer: false };
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
