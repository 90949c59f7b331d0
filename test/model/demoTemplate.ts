import { readFile } from 'node:fs/promises';
import { repositoryPath } from '../helpers/server.ts';

/** The bytes of the demo model with another chat template, of at most the same length. */
export async function demoWithTemplate(template: string): Promise<Buffer> {
  const file = await readFile(repositoryPath('models/turngraph-demo.gguf'));
  const key = 'tokenizer.chat_template';
  // Behind the key: the type of the value (4 bytes), its length (8), its text.
  const at = file.indexOf(key) + key.length + 4;
  const length = Number(file.readBigUInt64LE(at));
  if (template.length > length)
    throw new Error(`the template has ${template.length} characters, and there is room for ${length}`);
  file.write(template.padEnd(length, ' '), at + 8, 'utf8');
  return file;
}
