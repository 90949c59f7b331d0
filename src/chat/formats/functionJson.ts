import type { WrittenCall } from '../calls.ts';
import type { Tool } from '../tool.ts';
import { stringifyJson } from '../json/value.ts';

/** A tool as a function definition in OpenAI's form, which most model families were trained on. */
export const toFunctionDefinition = ({ name, description, parameters }: Tool) =>
  ({ type: 'function', function: { name, description, parameters } }) as const;

/** The function definition of a tool as JSON. */
export const functionJson = (tool: Tool): string => stringifyJson(toFunctionDefinition(tool));

/** A call as a JSON object, under the keys of a format. */
export const callJson = (
  { name, arguments: args }: WrittenCall,
  keys: { readonly name: string; readonly arguments: string },
  others: readonly (readonly [key: string, value: string])[] = [],
): string => stringifyJson(new Map<string, unknown>([[keys.name, name], [keys.arguments, args], ...others]));
