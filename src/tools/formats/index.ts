import type { ToolCallFormat } from '../tool.ts';
import { chatml } from './chatml.ts';
import { generic } from './generic.ts';
import { llama3 } from './llama3.ts';
import { mistral } from './mistral.ts';

/** Tool-call formats by name. */
export type Formats = ReadonlyMap<string, ToolCallFormat>;

/** The tool-call formats of turngraph: a new one is a file and a line here. */
export const formats: Formats = createFormats([chatml, llama3, mistral, generic]);

/** Formats by name. @throws TypeError when two have the same. */
export function createFormats(list: readonly ToolCallFormat[]): Formats {
  const twice = list.find(({ name }, index) => list.findIndex((other) => other.name === name) !== index);
  if (twice) throw new TypeError(`there are two tool-call formats "${twice.name}"; give yours another name`);
  return new Map(list.map((format) => [format.name, format]));
}
