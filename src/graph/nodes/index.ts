import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describeError } from '../../protocol/fault.ts';
import type { AnyNodeType } from '../compile/node.ts';
import { createRegistry, type Registry } from '../compile/registry.ts';
import { assertSchema } from '../../protocol/schema.ts';
import { createFormats, formats, type Formats } from '../../chat/formats/index.ts';
import type { ToolCallFormat } from '../../chat/tool.ts';
import { branch } from './branch.ts';
import { cannedResponse } from './cannedResponse.ts';
import { generate } from './generate.ts';
import { guardrail } from './guardrail.ts';
import { remember } from './remember.ts';
import { retrieve } from './retrieve.ts';
import { route } from './route.ts';
import { selectTools } from './selectTools.ts';
import { toolCallWith } from './toolCall/toolCall.ts';

/** Node types and tool-call formats that an application adds. */
export interface Extension {
  readonly nodeTypes?: readonly AnyNodeType[];
  readonly formats?: readonly ToolCallFormat[];
}

/** Built-in node types and an extension's. @throws TypeError for the same name twice; Error for a bad schema. */
export function registryWith({ nodeTypes = [], formats: addedFormats = [] }: Extension = {}): Registry {
  const isBuiltIn = nodeTypes.length + addedFormats.length === 0;
  if (isBuiltIn && builtIn) return builtIn;
  for (const { params } of nodeTypes) assertSchema(params);
  const toolCall = toolCallWith(formatsWith({ formats: addedFormats }));
  const types = [guardrail, toolCall, generate, cannedResponse, route, branch, selectTools, retrieve, remember];
  const registry = createRegistry([...types, ...nodeTypes]);
  if (isBuiltIn) builtIn = registry;
  return registry;
}

// Its schemas are compiled once.
let builtIn: Registry | undefined;

/** The built-in tool-call formats and those of an extension. @throws TypeError when two have the same name. */
export const formatsWith = ({ formats: added = [] }: Extension = {}): Formats =>
  createFormats([...formats.values(), ...added]);

/**
 * Imports the modules of `--extend` and merges their `nodeTypes` and `formats` into one extension.
 * @param modules paths, relative to the working directory.
 * @throws TypeError that names the module, when it cannot be loaded or exports neither.
 */
export async function loadExtension(modules: readonly string[]): Promise<Extension> {
  const extensions = await Promise.all(modules.map(loadModule));
  return {
    nodeTypes: extensions.flatMap(({ nodeTypes = [] }) => nodeTypes),
    formats: extensions.flatMap(({ formats = [] }) => formats),
  };
}

async function loadModule(path: string): Promise<Extension> {
  const exported = (await import(pathToFileURL(resolve(path)).href).catch((cause: unknown) => {
    throw new TypeError(`the extension ${path} cannot be loaded: ${describeError(cause)}`, { cause });
  })) as Extension;
  if (exported.nodeTypes || exported.formats) return exported;
  throw new TypeError(
    `the extension ${path} exports neither nodeTypes nor formats; export a list under one of these names`,
  );
}
