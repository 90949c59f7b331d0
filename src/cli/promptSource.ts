import type { Prompt } from '../chat/dialog.ts';
import type { Engine, LoadOptions } from '../inference/contract/engine.ts';
import type { ToolDialect } from '../chat/dialect/layout.ts';
import { type ChatTemplate, probeChatTemplate } from '../chat/template/chatTemplate.ts';
import { compileTemplate } from '../chat/template/compileTemplate.ts';
import type { ServerOptions } from '../server/config.ts';
import { mockEngine } from '../inference/mock/engine.ts';
import { MockSequence, type ScriptLookup } from '../inference/mock/sequence.ts';
import type { ModelLease } from '../inference/models/pool/lease.ts';
import { createUncachedLlamaEngine } from '../server/llamaEngine.ts';
import type { Catalogue } from '../inference/models/catalogue/catalogue.ts';
import { describeError } from '../protocol/fault.ts';
import { isOnDisk } from './catalogue.ts';
import { UsageError } from './options.ts';
import { readTextFile } from '../base/filesystem.ts';
import { withMembers } from '../base/withMembers.ts';

/** What renders the prompts of a graph: a model, or a chat template alone. */
export interface PromptSource {
  readonly engine: Engine;
  /** The template in place of a model; undefined: there is a model, which can answer a prompt, too. */
  readonly template?: ChatTemplate;
  /** The dialect of all models, whatever models.json says of them; undefined: their own. */
  readonly toolDialect?: ToolDialect;
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
    return { engine: mockEngine(), template, toolDialect: template.toolDialect };
  }
  if (model !== undefined || isOnDisk(catalogue, modelName))
    return { engine: await createUncachedLlamaEngine(options) };
  const why = modelName === '' ? 'no model is named' : `"${modelName}" is not on disk`;
  process.stderr.write(`${why}, so this is our own wording in ChatML\n`);
  return { engine: mockEngine(), template: probeChatTemplate(undefined, noTokens) };
}

// A template file names no tokens.
const noTokens = { bos: '', eos: '' };

/** Reads and probes a chat template file; it has no special tokens. @throws Error that names the file. */
export async function readTemplateFile(path: string): Promise<ChatTemplate> {
  const source = await readTextFile(path);
  try {
    compileTemplate(source, noTokens);
  } catch (error) {
    throw new Error(`${path}: ${describeError(error)}`, { cause: error });
  }
  return probeChatTemplate(source, noTokens, path);
}

/** Load options of a model that does not generate: minimal KV cache, one thread. */
export const captureOptions = { contextSize: 256, slots: 1, threads: 1, gpu: 'off' } as const satisfies LoadOptions;

// For a model that answers one of the nodes; more context would only take memory.
export const answerOptions = { ...captureOptions, contextSize: 2048, threads: 0 } as const satisfies LoadOptions;

/** A lease whose model hands over its prompts, whatever their length, in place of running them: its replies are empty. */
export function captureLease(
  lease: ModelLease,
  { toolDialect }: PromptSource,
  onPrompt: (prompt: Prompt) => void,
): ModelLease {
  const { replyMarks } = lease.model;
  const lookup: ScriptLookup = {
    reply(prompt) {
      onPrompt(prompt);
      return { answer: '', delay_ms: 0, chunk: 0 };
    },
    scores(prompt) {
      onPrompt(prompt);
      return { scores: {}, delay_ms: 0 };
    },
  };
  const contextSize = Infinity;
  const model = withMembers(lease.model, {
    contextSize,
    ...(toolDialect && { toolDialect }),
    openSequence: ({ label = '' } = {}) =>
      new MockSequence(label, { contextSize, replyMarks }, lookup, () => undefined),
  });
  return { ...lease, model, ...(toolDialect && { toolCallFormat: '' }) };
}
