import { writeFile } from 'node:fs/promises';
import { recurrentGguf } from '../../scripts/gguf/recurrent.mjs';
import { byteLevelVocab } from '../../scripts/gguf/vocabulary.mjs';
import { chatTemplate } from '../../scripts/random-model/shapes.mjs';

/** Writes a recurrent model with random weights, whose tokens are single bytes. */
export async function writeRecurrentModel(file: string): Promise<void> {
  const control = ['<|endoftext|>', '<|im_start|>', '<|im_end|>'];
  const vocab = byteLevelVocab({ pre: 'llama-bpe', control, bos: 1, eos: 2 });
  await writeFile(file, recurrentGguf({ vocab, chatTemplate }));
}
