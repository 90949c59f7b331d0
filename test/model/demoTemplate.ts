import { readFile } from 'node:fs/promises';
import { repositoryPath } from '../helpers/server.ts';

/** The bytes of the demo model with another chat template. @throws Error when the template is longer than its own. */
export async function demoWithTemplate(template: string): Promise<Buffer> {
  const file = await readFile(repositoryPath('models/turngraph-demo.gguf'));
  const key = 'tokenizer.chat_template';
  // The key is followed by the type of the value (4 bytes), its length (8 bytes) and its text.
  const offset = file.indexOf(key) + key.length + 4;
  const length = Number(file.readBigUInt64LE(offset));
  if (template.length > length)
    throw new Error(`the template has ${template.length} characters, and there is room for ${length}`);
  file.write(template.padEnd(length, ' '), offset + 8, 'utf8');
  return file;
}
