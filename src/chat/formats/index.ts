import type { ToolCallFormat } from '../tool.ts';
import { chatml } from './chatml.ts';
import { generic } from './generic.ts';
import { llama3 } from './llama3.ts';
import { mistral } from './mistral.ts';
import { react } from './react.ts';

/** Tool-call formats by name. */
export type Formats = ReadonlyMap<string, ToolCallFormat>;

/** The built-in tool-call formats; to add one, write a file and add it here. */
export const formats: Formats = createFormats([chatml, llama3, mistral, generic, react]);

/** Formats by name. @throws TypeError when two have the same name. */
export function createFormats(list: readonly ToolCallFormat[]): Formats {
  const duplicate = list.find(({ name }, index) => list.findIndex((format) => format.name === name) !== index);
  if (duplicate) throw new TypeError(`there are two tool-call formats "${duplicate.name}"; give yours another name`);
  return new Map(list.map((format) => [format.name, format]));
}
