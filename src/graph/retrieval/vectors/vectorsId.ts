import { createHash } from 'node:crypto';
import { createYielder } from '../../../base/eventLoop.ts';

/**
 * The name of the vectors of some texts: a hash of the texts and of all that their vectors depend on, in hexadecimal.
 * @param model the fingerprint of the model.
 * @param prefix stands before each text.
 */
export async function vectorsId(texts: readonly string[], model: string, prefix: string): Promise<string> {
  const yieldToOthers = createYielder();
  const hash = createHash('sha256').update(JSON.stringify([model, prefix, texts.length]));
  for (const text of texts) {
    // With its length, so that the texts cannot be divided in another way.
    hash.update(`${text.length}:`).update(text);
    await yieldToOthers();
  }
  return hash.digest('hex');
}
