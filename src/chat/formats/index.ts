import type { ToolCallFormat } from '../tool.ts';
import { chatml } from './chatml.ts';
import { generic } from './generic.ts';
import { llama3 } from './llama3.ts';
import { mistral } from './mistral.ts';
import { react } from './react.ts';

export type Formats = ReadonlyMap<string, ToolCallFormat>;

/** The built-in tool-call formats; to add one, write a file and add it here. */
export const formats: Formats = createFormats([chatml, llama3, mistral, generic, react]);

/** Formats by name. @throws TypeError when two have the same name. */
export function createFormats(list: readonly ToolCallFormat[]): Formats {
  const duplicate = list.find(({ name }, index) => list.findIndex((format) => format.name === name) !== index);
  if (duplicate) throw new TypeError(`there are two tool-call formats "${duplicate.name}"; give yours another name`);
  return new Map(list.map((format) => [format.name, format]));
}

/** The name of a format and why it was chosen, for debug_info. */
export interface FormatChoice {
  readonly name: string;
  readonly reason: string;
}

/** The fallback: the format that most model families were trained on. */
export const defaultFormat = 'chatml';

/**
 * Chooses the tool-call format: the one that a node or the catalogue names ("" = none), else the one that the model's chat
 * template proves, else the default.
 */
export function chooseFormat(
  { node = '', catalogue = '' }: { readonly node?: string; readonly catalogue?: string },
  { format, because }: { readonly format: string | undefined; readonly because: string },
): FormatChoice {
  if (node !== '') return { name: node, reason: 'the node names it' };
  if (catalogue !== '') return { name: catalogue, reason: 'models.json names it' };
  if (format !== undefined) return { name: format, reason: because };
  return { name: defaultFormat, reason: `nothing names another, and ${because}` };
}
