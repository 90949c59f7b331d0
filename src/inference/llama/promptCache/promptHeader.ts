import { createHash } from 'node:crypto';
import { isObject } from '../../../base/jsonTypes.ts';

/** The header of a saved prompt: a JSON file with the name of that of the state. */
export interface PromptHeader {
  readonly version: 2;
  readonly key: string;
  readonly tokens: readonly number[];
  /** Of the file of the state. */
  readonly bytes: number;
  /** Of the file of the state: see `fileChecksum`. */
  readonly checksum: string;
}

/** The name of a saved prompt: two prompts of the same key and tokens have the same. */
export const promptId = ({ key, tokens }: Pick<PromptHeader, 'key' | 'tokens'>): string =>
  createHash('sha256')
    .update(JSON.stringify([key, tokens]))
    .digest('hex');

/** Reads a header; undefined when the text is no header of the prompt with this name. */
export function parseHeader(text: string, id: string): PromptHeader | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!isObject(value)) return undefined;
  const { version, key, tokens, bytes, checksum } = value;
  if (version !== 2 || typeof key !== 'string' || typeof bytes !== 'number' || typeof checksum !== 'string')
    return undefined;
  if (!Array.isArray(tokens) || !tokens.every((token): token is number => Number.isInteger(token))) return undefined;
  return promptId({ key, tokens }) === id ? { version, key, tokens, bytes, checksum } : undefined;
}
