import { checkGraph as check, type GraphCheckResult } from './server/checkGraph.ts';
import { defaultServerOptions, readServerOptions, type ServerOptions } from './server/config.ts';
import { editorSchema } from './graph/compile/editorSchema.ts';
import { start } from './server/start.ts';
import { readCatalogue } from './inference/models/catalogue/catalogue.ts';
import { registryWith, type Extension } from './graph/nodes/index.ts';
import type { TurngraphServer } from './server/socket/server.ts';

export type { GraphCheckResult } from './server/checkGraph.ts';
export type { ServerOptions } from './server/config.ts';
export { Fault } from './protocol/fault.ts';
export type { GraphFault } from './graph/compile/document.ts';
export { liveParams, type LiveParams } from './graph/compile/liveParams.ts';
export { unwrapParam, defineNode, InvalidParams } from './graph/compile/node.ts';
export type { AnyNodeType, Node, NodeContext, NodeType } from './graph/compile/node.ts';
export {
  routingEffects,
  type CallableTool,
  type EffectsContext,
  type GuardEffects,
  type NodeEffects,
} from './graph/compile/node.ts';
export { compileTemplate, type Template, type TemplateScope } from './graph/compile/template.ts';
export type { KnowledgeBlock } from './graph/compile/turn.ts';
export type { Hit as KnowledgeChunk } from './graph/retrieval/retriever.ts';
export type { Call, InferenceRecord, Turn } from './graph/compile/turn.ts';
export { InferenceRunner, inferenceParams, resolveModel } from './graph/nodes/inference.ts';
export type { Extension } from './graph/nodes/index.ts';
export { modelsSchema } from './inference/models/catalogue/catalogue.ts';
export { chatProjection, toolProjection } from './graph/projection/projection.ts';
export { placeTemplate } from './graph/projection/projection.ts';
export type { FromSchema, ObjectSchema, ReadResult, SchemaError, Schema } from './protocol/schema.ts';
export type { TurngraphServer } from './server/socket/server.ts';
export { detect } from './chat/reply/detect/detect.ts';
export { KeywordFinder, type Keyword } from './chat/formats/keywordLines.ts';
export { readOwnArguments, type OwnArguments } from './chat/formats/ownArguments.ts';
export { functionJson } from './chat/formats/toolText.ts';
export { callGrammar, type CallForm } from './chat/formats/callGrammar.ts';
export type { CallGrammar, ToolChoice } from './chat/grammar/rule.ts';
export type { Rule } from './chat/grammar/rule.ts';
export * as grammar from './chat/grammar/rule.ts';
export type { DetectedCall, Detection, Tool, ToolCallFormat } from './chat/tool.ts';
export { defineFormat } from './chat/tool.ts';
export { stringifyJson, JsonNumber, type JsonObject, type JsonValue } from './chat/json/value.ts';

/** Options of `startServer`: those of `turngraph serve`, all optional, and your own node types and tool-call formats. */
export type StartOptions = Partial<ServerOptions> & Extension;

/**
 * Starts a server in this process. Disposing of it shuts it down.
 * @throws TypeError for an invalid option, Fault for a server that cannot start, the system's error for a port that is taken.
 */
export async function startServer({
  nodeTypes = [],
  formats = [],
  ...options
}: StartOptions = {}): Promise<TurngraphServer> {
  const reading = readServerOptions(options);
  if (!reading.ok)
    throw new TypeError(reading.errors.map(({ pointer, message }) => `${pointer.slice(1)} ${message}`).join('; '));
  const hasExtension = nodeTypes.length + formats.length > 0;
  return start(reading.value, hasExtension ? { extension: { nodeTypes, formats } } : {});
}

/** What a graph is checked against, in addition to the node types and formats of turngraph. */
export interface CheckOptions extends Extension {
  /** Path of a models.json with the models that graphs may name. Default: ./models.json, else the bundled one. */
  readonly catalogue?: string;
  /** Folder of string storage files; default: the working directory. */
  readonly storageRoot?: string;
}

/** Validates a graph document as a server would, without loading a model. @throws Fault when the catalogue cannot be read. */
export async function checkGraph(
  graph: unknown,
  { catalogue = defaultServerOptions().catalogue, storageRoot = '.', ...extension }: CheckOptions = {},
): Promise<GraphCheckResult> {
  return check(graph, { registry: registryWith(extension), catalogue: await readCatalogue(catalogue), storageRoot });
}

/** The JSON Schema of graph files, for editors, including the node types and formats of an extension. */
export const graphSchema = (extension: Extension = {}): object => editorSchema(registryWith(extension));
