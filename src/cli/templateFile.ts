import { readFile } from 'node:fs/promises';
import { probeChatTemplate, type ChatTemplate } from '../chat/template/chatTemplate.ts';
import { compileTemplate } from '../chat/template/compileTemplate.ts';
import { describeError } from '../protocol/fault.ts';

// A template file names no tokens.
const noTokens = { bos: '', eos: '' };

/**
 * Reads and probes a chat template (Jinja) that is a file of its own. Its `bos_token` and `eos_token` are empty.
 * @throws Error that names the file, when it cannot be read or does not parse.
 */
export async function readTemplateFile(path: string): Promise<ChatTemplate> {
  const source = await readFile(path, 'utf8');
  try {
    compileTemplate(source, noTokens);
  } catch (error) {
    throw new Error(`${path}: ${describeError(error)}`, { cause: error });
  }
  return probeChatTemplate(source, noTokens);
}

/** Reads template files, each path once. */
export class TemplateFiles {
  readonly #templates = new Map<string, Promise<ChatTemplate>>();

  /** The template of a path. @throws as readTemplateFile */
  read(path: string): Promise<ChatTemplate> {
    const template = this.#templates.get(path) ?? readTemplateFile(path);
    this.#templates.set(path, template);
    return template;
  }
}
