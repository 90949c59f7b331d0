import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getLlama, LlamaLogLevel, type LlamaModel } from 'node-llama-cpp';
import { familyGguf } from '../../scripts/gguf/families.mjs';
import { probeChatTemplate } from '../../src/chat/template/chatTemplate.ts';
import { PromptRenderer } from '../../src/inference/llama/promptRenderer.ts';
import { Tokenizer } from '../../src/inference/decoding/tokenizer.ts';

/** The parts of a loaded tiny model of a family. */
export interface TinyModel {
  readonly weights: LlamaModel;
  readonly tokenizer: Tokenizer;
  readonly renderer: PromptRenderer;
}

/**
 * Writes tiny models to a temporary folder and loads them.
 * @param others GGUF files of further models, by name.
 */
export async function openTinyModels(
  families: readonly string[],
  others: Readonly<Record<string, Buffer>> = {},
): Promise<{
  readonly get: (family: string) => TinyModel;
  readonly pathOf: (family: string) => string;
  readonly close: () => Promise<void>;
}> {
  const folder = await mkdtemp(join(tmpdir(), 'turngraph-tiny-'));
  const pathOf = (family: string): string => join(folder, `${family.replaceAll(' ', '-')}.gguf`);
  const llama = await getLlama({ build: 'never', gpu: false, maxThreads: 0, logLevel: LlamaLogLevel.disabled });
  const models = new Map<string, TinyModel>();
  const files = [...families.map((family) => [family, familyGguf(family)] as const), ...Object.entries(others)];
  for (const [name, file] of files) {
    await writeFile(pathOf(name), file);
    models.set(name, toTinyModel(await llama.loadModel({ modelPath: pathOf(name) })));
  }
  const get = (family: string): TinyModel => {
    const model = models.get(family);
    if (!model) throw new Error(`no model was made for ${family}`);
    return model;
  };
  const close = async (): Promise<void> => {
    await llama.dispose();
    await rm(folder, { recursive: true });
  };
  return { get, pathOf, close };
}

function toTinyModel(weights: LlamaModel): TinyModel {
  const tokenizer = new Tokenizer(weights);
  const { bosString, eosString } = weights.tokens;
  const source = weights.fileInfo.metadata.tokenizer.chat_template;
  const chatTemplate = probeChatTemplate(source, { bos: bosString ?? '', eos: eosString ?? '' });
  return { weights, tokenizer, renderer: new PromptRenderer(chatTemplate, tokenizer) };
}
