import type { Tool } from '../tool.ts';
import { jsonText } from '../value.ts';

/** A tool in the JSON form that most families were trained on. */
export const functionJson = ({ name, description, parameters }: Tool): string =>
  jsonText({ type: 'function', function: { name, description, parameters } });
