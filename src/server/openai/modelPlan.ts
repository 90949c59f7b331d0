import { isObject } from '../../base/jsonTypes.ts';
import { samplingColumn, type SamplingName } from '../../inference/contract/samplingParams.ts';
import type { Conversation, ConversationTurn } from './messages.ts';
import type { CompletionRequest } from './requestSchema.ts';
import { assistantText, type PlannedInteraction, textPart, type TurnPlan } from './turnPlan.ts';

const node = 'answer';
const systemVariable = 'instructions';

/** Plans a turn of a graph of one node: the request's own tools, format and sampling with the model that it names. */
export function planModelTurn(request: CompletionRequest, conversation: Conversation): TurnPlan {
  const { model, parallel_tool_calls: isParallel } = request;
  const { system, earlier, last } = conversation;
  const params = `/nodes/${node}/params`;
  return {
    graph: { start_node: node, nodes: { [node]: createNode(request, system) } },
    message: last.user,
    variables: system === '' ? {} : { [systemVariable]: system },
    earlier: earlier.map(planInteraction),
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
  const common = {
    model_name: request.model,
    system_prompt: system === '' ? '' : `{{${systemVariable}}}`,
    sampling: samplingOf(request),
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

function samplingOf(request: CompletionRequest): object {
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

function planInteraction({ user, parts }: ConversationTurn): PlannedInteraction {
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
