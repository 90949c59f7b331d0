import { isObject } from '../../base/jsonTypes.ts';
import { samplingColumn } from '../../inference/contract/samplingParams.ts';
import type { Registry } from '../../graph/compile/registry.ts';
import { resultLine } from '../../chat/tool.ts';
import { stringifyJson } from '../../chat/json/value.ts';
import { invalidField } from './apiError.ts';
import type { Conversation, ConversationPart, ConversationTurn } from './messages.ts';
import type { CompletionRequest } from './requestSchema.ts';
import { assistantText, textPart, type PlannedInteraction, type TurnPlan } from './turnPlan.ts';

/** Fields that a graph has itself, and their values that change nothing. */
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

/** What the plan of a graph's turn needs. */
export interface GraphPlanOptions {
  /** The document of the graph. */
  readonly graph: unknown;
  readonly registry: Registry;
}

/**
 * Plans a turn of a graph of the graphs folder: the last message of the user, or the results after it.
 * @throws ApiError with status 400 for a field or a message that the graph has itself, and for results of no tool of it
 */
export function planGraphTurn(
  request: CompletionRequest,
  { system, earlier, last }: Conversation,
  { graph, registry }: GraphPlanOptions,
): TurnPlan {
  assertOwnFields(request);
  const parts = [...earlier, last].flatMap((turn) => turn.parts);
  if (system !== '' || parts.some((part) => part.kind === 'text' && part.message.role === 'system'))
    throw invalidField(
      'messages',
      'has a message of role system or developer, and the graph has its own; leave it out',
    );
  const calling = findCallingNode(last.parts, graph, registry);
  const { default_model_name: graphModel = '' } = isObject(graph) ? graph : {};
  return {
    graph,
    message: last.user,
    variables: {},
    earlier: earlier.map(planInteraction),
    parts: last.parts,
    ...(calling && { after: { nodeName: calling.name, exit: 'tool_called' } }),
    layout: { model: calling?.model || String(graphModel), format: calling?.format ?? '' },
    maxCalls: request.parallel_tool_calls ? Infinity : 1,
    fields: {},
  };
}

function assertOwnFields(request: CompletionRequest): void {
  for (const [field, neutral] of Object.entries(graphsOwn)) {
    const value = request[field as keyof typeof graphsOwn];
    if (value === undefined || JSON.stringify(value) === JSON.stringify(neutral)) continue;
    throw invalidField(
      field,
      'is not supported with a graph, which has its own; leave it out',
      'unsupported_parameter',
    );
  }
}

/** The first ToolCall node that declares the tools of the last calls; undefined: the request has no results. */
function findCallingNode(
  parts: readonly ConversationPart[],
  graph: unknown,
  registry: Registry,
): { readonly name: string; readonly model: string; readonly format: string } | undefined {
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
    const params: { readonly model_name?: string; readonly tool_call_format?: string } = reading.value;
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
