import type { ToolCallFormat } from '../tool.ts';
import { chatml } from './chatml.ts';
import { generic } from './generic.ts';
import { llama3 } from './llama3.ts';
import { mistral } from './mistral.ts';

/** The tool-call formats by name: a new one is a file and a line here. */
export const formats: ReadonlyMap<string, ToolCallFormat> = new Map(
  [chatml, llama3, mistral, generic].map((format) => [format.name, format]),
);
