import { checkGraph as check, type GraphCheckResult } from './agent/checkGraph.ts';
import { defaultServerOptions, readServerOptions, type ServerOptions } from './config.ts';
import { editorSchema } from './graph/editorSchema.ts';
import { start } from './start.ts';
import { readCatalogue } from './models/catalogue/readCatalogue.ts';
import { registryWith, type Extension } from './nodes/index.ts';
import type { TurngraphServer } from './server/server.ts';

export type { GraphCheckResult } from './agent/checkGraph.ts';
export type { ServerOptions } from './config.ts';
export { Fault } from './fault.ts';
export type { GraphFault } from './graph/faults.ts';
export { liveParams, type LiveParams } from './graph/liveParams.ts';
export { unwrapParam, defineNode, InvalidParams } from './graph/node.ts';
export type { AnyNodeType, FactsContext, Node, NodeContext, NodeOutput, NodeType } from './graph/node.ts';
export { routingFacts, type CallableTool, type GuardFacts, type NodeFacts } from './graph/nodeFacts.ts';
export { compileTemplate, type Template } from './graph/template.ts';
export type { KnowledgeBlock, KnowledgeChunk } from './graph/knowledgeBlock.ts';
export type { TemplateScope } from './graph/templateData.ts';
export type { Call, InferenceRecord, Turn } from './graph/turn.ts';
export { InferenceRunner, inferenceParams, resolveModel } from './nodes/inference.ts';
export type { Extension } from './nodes/index.ts';
export { modelsSchema } from './models/catalogue/editorSchema.ts';
export { chatProjection } from './projection/chat.ts';
export { placeTemplate } from './projection/placement.ts';
export { toolProjection } from './projection/withTools.ts';
export type { FromSchema, ObjectSchema, ReadResult, SchemaError, Schema } from './schema.ts';
export type { TurngraphServer } from './server/server.ts';
export { detect } from './tools/detect/detect.ts';
export { KeywordFinder, type Keyword } from './tools/detect/keywordLines.ts';
export { readOwnArguments, type OwnArguments } from './tools/detect/ownArguments.ts';
export { functionJson } from './tools/formats/functionJson.ts';
export { callGrammar, type CallForm } from './tools/formats/callGrammar.ts';
export type { CallGrammar, ToolChoice } from './tools/grammar/grammar.ts';
export type { Rule } from './tools/grammar/rule.ts';
export * as grammar from './tools/grammar/rule.ts';
export type { DetectedCall, Detection, Tool, ToolCallFormat } from './tools/tool.ts';
export { defineFormat } from './tools/tool.ts';
export { stringifyJson, JsonNumber, type JsonObject, type JsonValue } from './tools/json/value.ts';

/**
 * Options of `startServer`: those of `turngraph serve`, all optional, and your own node types and tool-call formats.
 */
export type StartOptions = Partial<ServerOptions> & Extension;

/**
 * Starts a server in this process. Disposing of it shuts it down.
 * @throws TypeError for an invalid option, Fault for a server that cannot start, the system's error for a port that is
 * taken.
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
  /**
   * Path of a models.json with the models that graphs may name. Default: ./models.json, or the bundled one if it does
   * not exist.
   */
  readonly catalogue?: string;
  /** Folder of string storage files; default: the working directory. */
  readonly storageRoot?: string;
}

/**
 * Validates a graph document as a server would, without loading a model.
 * @throws Fault when the catalogue cannot be read.
 */
export async function checkGraph(
  graph: unknown,
  { catalogue = defaultServerOptions().catalogue, storageRoot = '.', ...extension }: CheckOptions = {},
): Promise<GraphCheckResult> {
  return check(graph, { registry: registryWith(extension), catalogue: await readCatalogue(catalogue), storageRoot });
}

/** The JSON Schema of graph files, for editors, including the node types and formats of an extension. */
export const graphSchema = (extension: Extension = {}): object => editorSchema(registryWith(extension));
