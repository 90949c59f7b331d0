import type { ServerContext } from '../session/session.ts';
import { ApiError, invalidField } from './apiError.ts';
import { didYouMean } from '../../base/didYouMean.ts';
import { Fault } from '../../protocol/fault.ts';
import { readMessages, type Conversation, type ConversationPart, type ConversationTurn } from './messages.ts';
import type { CompletionRequest } from './requestSchema.ts';
import { type TurnPlan, assistantText, textPart, type PlannedInteraction } from './turnPlan.ts';
import { isObject } from '../../base/jsonTypes.ts';
import { samplingColumn, type SamplingName } from '../../inference/contract/samplingParams.ts';
import { type ModelNames, modelNamesIn } from '../../graph/compile/modelNames.ts';
import type { Registry } from '../../graph/compile/registry.ts';
import { resultLine } from '../../chat/tool.ts';
import { stringifyJson } from '../../chat/json/value.ts';

const graphPrefix = 'graph:';

/** Plans the turn of a request: of the graph or of the model that it names. @throws ApiError, or Fault UNKNOWN_MODEL */
export async function planRequest(request: CompletionRequest, context: ServerContext): Promise<TurnPlan> {
  const { model } = request;
  const graph = model.startsWith(graphPrefix) ? await readGraph(model.slice(graphPrefix.length), context) : undefined;
  // Before the graph of the request is compiled, whose errors are about other fields.
  if (graph === undefined) await assertModel(model, context);
  const conversation = readMessages(request.messages, context.limits.maxMessageBytes);
  if (graph === undefined) return planModelTurn(request, conversation);
  return planGraphTurn(request, conversation, graph, context.registry);
}

async function assertModel(name: string, { pools, graphs }: ServerContext): Promise<void> {
  try {
    pools['llama-cpp'].entry(name);
  } catch (error) {
    if (!(await graphs.names()).includes(name)) throw error;
    throw modelNotFound(`there is no model "${name}", and there is a graph; did you mean "${graphPrefix}${name}"?`);
  }
}

const modelNotFound = (message: string): ApiError =>
  new ApiError(message, { status: 404, param: 'model', code: 'model_not_found' });

async function readGraph(name: string, { graphs }: ServerContext): Promise<unknown> {
  const names = await graphs.names();
  if (!names.includes(name))
    throw modelNotFound(`there is no graph "${name}"${didYouMean(name, names) || '; GET /v1/models lists them'}`);
  return graphs.read(name).catch((error: unknown) => {
    throw new ApiError(Fault.from(error).message, { status: 500, param: 'model' });
  });
}

const started = Math.floor(Date.now() / 1000);

const toApiModel = (id: string): object => ({ id, object: 'model', created: started, owned_by: 'turngraph' });

/** The body of GET /v1/models: the graphs of the folder, and the models of the catalogue. */
export async function listModels({ graphs, pools }: ServerContext): Promise<object> {
  const names = (await graphs.names()).map((name) => graphPrefix + name);
  return { object: 'list', data: [...names, ...pools['llama-cpp'].catalogue.models.keys()].map(toApiModel) };
}

/** The body of GET /v1/models/NAME. @throws ApiError with status 404 */
export async function readModel(name: string, { graphs, pools }: ServerContext): Promise<object> {
  const isKnown = name.startsWith(graphPrefix)
    ? (await graphs.names()).includes(name.slice(graphPrefix.length))
    : pools['llama-cpp'].catalogue.models.has(name);
  if (isKnown) return toApiModel(name);
  throw modelNotFound(`there is no model "${name}"; GET /v1/models lists them`);
}

const graphsOwn = {
  tools: [],
  tool_choice: 'auto',
  response_format: { type: 'text' },
  ...samplingColumn('api'),
  max_tokens: undefined,
  max_completion_tokens: undefined,
  seed: undefined,
  stop: [],
} as const satisfies Partial<Record<keyof CompletionRequest, unknown>>;

/**
 * Plans a turn of a graph of the graphs folder: the last message of the user, or the results after it.
 * @throws ApiError with status 400 for a field or a message that the graph has itself, and for results of no tool of it
 */
function planGraphTurn(
  request: CompletionRequest,
  { system, earlier, last }: Conversation,
  graph: unknown,
  registry: Registry,
): TurnPlan {
  assertOwnFields(request);
  const parts = [...earlier, last].flatMap((turn) => turn.parts);
  if (system !== '' || parts.some((part) => part.kind === 'text' && part.message.role === 'system'))
    throw invalidField(
      'messages',
      'has a message of role system or developer, and the graph has its own; leave it out',
    );
  const calling = findCallingNode(last.parts, graph, registry);
  return {
    graph,
    message: last.user,
    variables: {},
    earlier: earlier.map(planInteraction),
    parts: last.parts,
    ...(calling && { after: { nodeName: calling.name, exit: 'tool_called' } }),
    layout: { model: calling?.model || modelNamesIn(Object(graph).default_model_name), format: calling?.format ?? '' },
    maxCalls: request.parallel_tool_calls ? Infinity : 1,
    fields: {},
  };
}

function assertOwnFields(request: CompletionRequest): void {
  const reasoning = request.chat_template_kwargs.enable_thinking ? 'chat_template_kwargs' : 'reasoning_effort';
  const changed = Object.entries(graphsOwn).flatMap(([field, neutral]) => {
    const value = request[field as keyof typeof graphsOwn];
    return value === undefined || JSON.stringify(value) === JSON.stringify(neutral) ? [] : [field];
  });
  const [field] = mayReason(request) ? [...changed, reasoning] : changed;
  if (field === undefined) return;
  throw invalidField(field, 'is not supported with a graph, which has its own; leave it out', 'unsupported_parameter');
}

/** The first ToolCall node that declares the tools of the last calls; undefined: the request has no results. */
function findCallingNode(parts: readonly ConversationPart[], graph: unknown, registry: Registry) {
  const last = parts.at(-1);
  if (!last) return undefined;
  if (last.kind === 'text') throw invalidField('messages', 'ends with neither a message of the user nor results');
  const called = last.calls.map(({ name }) => name);
  const nodes = isObject(graph) && isObject(graph['nodes']) ? Object.entries(graph['nodes']) : [];
  for (const [name, node] of nodes) {
    if (!isObject(node) || node['type'] !== 'ToolCall') continue;
    const reading = registry.get('ToolCall')?.read(node['params']);
    if (!reading?.ok) continue;
    const declared = registry.get('ToolCall')?.toolNames(reading.value) ?? [];
    const params: { readonly model_name?: ModelNames; readonly tool_call_format?: string } = reading.value;
    if (called.every((tool) => declared.includes(tool)))
      return { name, model: params.model_name ?? '', format: params.tool_call_format ?? '' };
  }
  throw invalidField(
    'messages',
    `has results of ${called.join(', ')}, and no ToolCall node of the graph declares that`,
  );
}

/** Earlier calls are plain lines, as in a dialog over WebSocket: nodes without tools would imitate them. */
function planInteraction({ user = '', parts }: ConversationTurn): PlannedInteraction {
  const assistant = assistantText(parts);
  const lines = parts
    .flatMap((part) => (part.kind === 'calls' ? part.calls : []))
    .map((call) => {
      const args = call.arguments.size === 0 ? '' : ` ${stringifyJson(call.arguments)}`;
      return textPart('system', resultLine({ ...call, name: call.name + args }));
    });
  if (lines.length === 0 && assistant !== '') return { user, assistant, parts: undefined };
  const spoken = assistant === '' && lines.length > 0 ? 'Done.' : assistant;
  const answer = spoken === '' ? [] : [textPart('assistant', spoken)];
  return { user, assistant, parts: [...(user === '' ? [] : [textPart('user', user)]), ...lines, ...answer] };
}

const node = 'answer';
const systemVariable = 'instructions';

/** Plans a turn of a graph of one node: the request's own tools, format and sampling with the model that it names. */
function planModelTurn(request: CompletionRequest, conversation: Conversation): TurnPlan {
  const { model, parallel_tool_calls: isParallel } = request;
  const { system, earlier, last } = conversation;
  const params = `/nodes/${node}/params`;
  return {
    graph: { start_node: node, nodes: { [node]: createNode(request, system) } },
    message: last.user,
    variables: system === '' ? {} : { [systemVariable]: system },
    earlier: earlier.map(planModelInteraction),
    parts: last.parts,
    layout: { model, format: '' },
    maxCalls: isParallel ? Infinity : 1,
    fields: {
      model: `${params}/model_name`,
      tools: `${params}/tools`,
      tool_choice: `${params}/tool_choice`,
      'response_format.json_schema.schema': `${params}/response_schema`,
      stop: `${params}/sampling/stop`,
    },
  };
}

function createNode(request: CompletionRequest, system: string): object {
  const { tools, tool_choice: choice = 'auto' } = request;
  // A template cannot be broken, or changed, by what stands in its variable.
  const sampling = samplingOf(request);
  const common = {
    model_name: request.model,
    system_prompt: system === '' ? '' : `{{${systemVariable}}}`,
    sampling,
    thinking: mayReason(request),
  };
  const answering = { ...common, ...formatOf(request) };
  if (tools.length === 0 || choice === 'none') return { type: 'Generate', params: answering };
  return {
    type: 'ToolCall',
    params: {
      ...answering,
      tools: tools.map(({ function: { name, description, parameters } }) => {
        return { type: 'function', function: { name, description, parameters: toolParameters(asObject(parameters)) } };
      }),
      tool_choice: typeof choice === 'string' ? choice : choice.function.name,
      strict: tools.some(({ function: { strict } }) => strict),
      max_tokens_per_call: sampling.max_tokens,
      generate_on_no_tool: true,
      stream: true,
      on_incomplete: 'notify',
    },
    // Only a call that has its result already leads back; a new one ends the turn.
    exits: { tool_called: node },
  };
}

function mayReason({ reasoning_effort: effort = 'none', chat_template_kwargs: kwargs }: CompletionRequest): boolean {
  return kwargs.enable_thinking ?? effort !== 'none';
}

function formatOf({ response_format: format }: CompletionRequest): object {
  if (format === undefined || format.type === 'text') return {};
  return { response_schema: format.type === 'json_object' ? { type: 'object' } : format.json_schema?.schema };
}

function samplingOf(request: CompletionRequest): { readonly max_tokens?: number } {
  const { max_tokens, max_completion_tokens = max_tokens, seed, stop } = request;
  const names = Object.keys(samplingColumn('api')) as SamplingName<'api'>[];
  const sampling = {
    ...Object.fromEntries(names.map((name) => [name, request[name]])),
    max_tokens: max_completion_tokens,
    seed: seed === undefined ? undefined : toSeed(seed),
    stop: typeof stop === 'string' ? [stop] : stop,
  };
  return Object.fromEntries(Object.entries(sampling).filter(([, value]) => value !== undefined));
}

const seeds = 2 ** 32;

// For the engine 0 is random, and for a request a seed like any other.
const toSeed = (seed: number): number => ((seed % seeds) + seeds) % seeds || seeds - 1;

function planModelInteraction({ user, parts }: ConversationTurn): PlannedInteraction {
  const question = user === undefined ? [] : [textPart('user', user)];
  return { user: user ?? '', assistant: assistantText(parts), parts: [...question, ...parts] };
}

/**
 * A function's schema without what says nothing to a model: `$schema`, and `additionalProperties` false, which holds for
 * calls anyway. Clients write both into every schema, and small models take them for parameters.
 */
function toolParameters(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toolParameters);
  if (!isObject(schema)) return schema;
  // Without properties, it is what says that there are none.
  const isClosed = schema['properties'] !== undefined;
  const members = Object.entries(schema).filter(
    ([keyword, value]) => keyword !== '$schema' && !(keyword === 'additionalProperties' && value === false && isClosed),
  );
  return Object.fromEntries(members.map(([keyword, value]) => [keyword, inside(keyword, value)]));
}

/** The schema of arguments: `{}` and one without a type are of an object, too. */
const asObject = (schema: object): object =>
  ['type', ...schemaKeywords, '$ref'].some((keyword) => Object.hasOwn(schema, keyword))
    ? schema
    : { type: 'object', properties: {}, ...schema };

const schemaMaps = new Set(['properties', '$defs', 'definitions']);
const schemaKeywords = new Set(['items', 'anyOf', 'oneOf', 'allOf', 'prefixItems', 'additionalProperties']);

function inside(keyword: string, value: unknown): unknown {
  if (schemaMaps.has(keyword) && isObject(value))
    return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, toolParameters(schema)]));
  return schemaKeywords.has(keyword) ? toolParameters(value) : value;
}
