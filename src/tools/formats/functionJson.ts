import type { Tool } from '../tool.ts';
import { jsonText } from '../json/value.ts';

/** A tool in the form that most families were trained on. */
export const functionOf = ({ name, description, parameters }: Tool) =>
  ({ type: 'function', function: { name, description, parameters } }) as const;

/** That form as JSON text. */
export const functionJson = (tool: Tool): string => jsonText(functionOf(tool));
