import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getLlama, LlamaLogLevel, type LlamaModel } from 'node-llama-cpp';
import { familyGguf } from '../../scripts/gguf/families.mjs';
import { probeChatTemplate } from '../../src/engine/llama/prompt/chatTemplate.ts';
import { PromptRenderer } from '../../src/engine/llama/prompt/promptRenderer.ts';
import { Tokenizer } from '../../src/engine/llama/tokenizer/tokenizer.ts';

/** A tiny model of a family, taken apart as the engine takes it. */
export interface TinyModel {
  readonly weights: LlamaModel;
  readonly tokenizer: Tokenizer;
  readonly renderer: PromptRenderer;
}

/** Writes tiny models of families to a folder of their own and opens them. */
export async function openTinyModels(families: readonly string[]): Promise<{
  readonly of: (family: string) => TinyModel;
  readonly pathOf: (family: string) => string;
  readonly close: () => Promise<void>;
}> {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-tiny-'));
  const fileOf = (family: string): string => join(folder, `${family.replaceAll(' ', '-')}.gguf`);
  const llama = await getLlama({ build: 'never', gpu: false, maxThreads: 0, logLevel: LlamaLogLevel.disabled });
  const models = new Map<string, TinyModel>();
  for (const family of families) {
    await writeFile(fileOf(family), familyGguf(family));
    models.set(family, toTinyModel(await llama.loadModel({ modelPath: fileOf(family) })));
  }
  const of = (family: string): TinyModel => {
    const model = models.get(family);
    if (!model) throw new Error(`no model was made for ${family}`);
    return model;
  };
  const close = async (): Promise<void> => {
    await llama.dispose();
    await rm(folder, { recursive: true });
  };
  return { of, pathOf: fileOf, close };
}

function toTinyModel(weights: LlamaModel): TinyModel {
  const tokenizer = new Tokenizer(weights);
  const { bosString, eosString } = weights.tokens;
  const source = weights.fileInfo.metadata.tokenizer.chat_template;
  const chatTemplate = probeChatTemplate(source, { bos: bosString ?? '', eos: eosString ?? '' });
  return { weights, tokenizer, renderer: new PromptRenderer(chatTemplate, tokenizer) };
}
