import type { Tool } from '../tool.ts';
import { stringifyJson } from '../json/value.ts';

/** A tool in the form that most families were trained on. */
export const toFunctionDefinition = ({ name, description, parameters }: Tool) =>
  ({ type: 'function', function: { name, description, parameters } }) as const;

/** That form as JSON text. */
export const functionJson = (tool: Tool): string => stringifyJson(toFunctionDefinition(tool));
