// A catalogue with two models that have the same weights.
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export const modelNames = /** @type {const} */ (['first', 'second']);

/** Writes a catalogue and two copies of a model into a folder. Returns the path of the catalogue. */
export async function writeTwoModels(/** @type {string} */ folder, /** @type {string} */ file) {
  const models = modelNames.map((name) => ({
    name,
    tool_call_format: 'chatml',
    default_sampling: { temperature: 0 },
    variants: [{ engine: 'llama-cpp', local_path: '.', files: [`${name}.gguf`], context_size: 2048 }],
  }));
  for (const name of modelNames) await copyFile(file, join(folder, `${name}.gguf`));
  const catalogue = join(folder, 'models.json');
  await writeFile(catalogue, JSON.stringify({ models }));
  return catalogue;
}
