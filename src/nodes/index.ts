import type { AnyNodeType } from '../graph/node.ts';
import { createRegistry, type Registry } from '../graph/registry.ts';
import { formats, createFormats } from '../tools/formats/index.ts';
import type { ToolCallFormat } from '../tools/tool.ts';
import { cannedResponse } from './cannedResponse.ts';
import { generate } from './generate.ts';
import { guardrail } from './guardrail.ts';
import { toolCallWith } from './toolCall.ts';

/** What others add to turngraph. */
export interface Extension {
  readonly nodeTypes?: readonly AnyNodeType[];
  readonly formats?: readonly ToolCallFormat[];
}

/**
 * The node types of turngraph and those of an extension: a new one of turngraph is a file and a line here.
 * @throws TypeError when two node types or two formats have the same name.
 */
export function registryWith({ nodeTypes = [], formats: more = [] }: Extension = {}): Registry {
  const toolCall = toolCallWith(createFormats([...formats.values(), ...more]));
  return createRegistry([guardrail, toolCall, generate, cannedResponse, ...nodeTypes]);
}
