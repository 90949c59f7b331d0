import type { AnyNodeType } from '../compile/node.ts';
import { createRegistry, type Registry } from '../compile/registry.ts';
import { assertSchema } from '../../protocol/schema.ts';
import { formats, createFormats, type Formats } from '../../chat/formats/index.ts';
import type { ToolCallFormat } from '../../chat/tool.ts';
import { cannedResponse } from './cannedResponse.ts';
import { generate } from './generate.ts';
import { guardrail } from './guardrail.ts';
import { retrieve } from './retrieve.ts';
import { route } from './route.ts';
import { selectTools } from './selectTools.ts';
import { toolCallWith } from './toolCall/toolCall.ts';

/** Node types and tool-call formats that an application adds. */
export interface Extension {
  readonly nodeTypes?: readonly AnyNodeType[];
  readonly formats?: readonly ToolCallFormat[];
}

/**
 * The registry of the built-in node types and those of an extension. To add a built-in one, write a file and add it here.
 * @throws TypeError when two node types or two formats have the same name; Error when a schema of the extension is invalid.
 */
export function registryWith({ nodeTypes = [], formats: addedFormats = [] }: Extension = {}): Registry {
  if (nodeTypes.length === 0 && addedFormats.length === 0) return (builtIn ??= createWith([], []));
  for (const { params } of nodeTypes) assertSchema(params);
  return createWith(nodeTypes, addedFormats);
}

// Its schemas are compiled once.
let builtIn: Registry | undefined;

function createWith(nodeTypes: readonly AnyNodeType[], addedFormats: readonly ToolCallFormat[]): Registry {
  const toolCall = toolCallWith(formatsWith({ formats: addedFormats }));
  const types = [guardrail, toolCall, generate, cannedResponse, route, selectTools, retrieve];
  return createRegistry([...types, ...nodeTypes]);
}

/** The built-in tool-call formats and those of an extension. @throws TypeError when two have the same name. */
export const formatsWith = ({ formats: added = [] }: Extension = {}): Formats =>
  createFormats([...formats.values(), ...added]);
