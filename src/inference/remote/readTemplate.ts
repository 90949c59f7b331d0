import { readFile } from 'node:fs/promises';
import { Fault, describeError } from '../../protocol/fault.ts';
import type { RemoteModel } from '../contract/model.ts';

/** The chat template that the catalogue names for a model; undefined: it names none. @throws Fault MODEL_LOAD_FAILED */
export async function readTemplate({ templateFile: file }: RemoteModel): Promise<string | undefined> {
  if (file === undefined) return undefined;
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    const message = `the chat template ${file} cannot be read: ${describeError(cause)}`;
    throw new Fault('MODEL_LOAD_FAILED', message, { cause });
  }
}
