import { didYouMean } from '../../../base/didYouMean.ts';
import { dialectWarning, formatsOf, nativeFormatName } from '../../../chat/dialect/nativeFormat.ts';
import { chooseFormat, type Formats } from '../../../chat/formats/index.ts';
import { graphToolSchema } from '../../../chat/tools/declaration/toolSchema.ts';
import type { ModelLease } from '../../../inference/models/pool/lease.ts';
import type { FromSchema, Schema } from '../../../protocol/schema.ts';
import { array, boolean, closedObject, integer, number, object, string } from '../../../protocol/schemaBuilders.ts';
import { templateParam } from '../../compile/graphDeclarations.ts';
import { InvalidParams, type NodeContext } from '../../compile/node.ts';
import { inferenceParams } from '../inference.ts';
import { summaryParams } from '../runningSummary.ts';

/** Parameters of a ToolCall node, for the formats that can be named. */
export const toolCallParams = (formats: Formats) =>
  closedObject(['tools'], {
    ...inferenceParams,
    ...summaryParams,
    tools: array(
      { minItems: 1, live: true, items: graphToolSchema },
      'The tools that the model may call: declarations, or names of tools that the program brings.',
    ),
    tools_from: string(
      { enum: ['node', 'selection'], default: 'node' },
      'Which of its tools the node offers in a turn: node = all; selection = those that a node before it selected, or that of a pending call. If there is none, the model is not asked, and the exit is no_tool_called.',
    ),
    tool_call_format: string(
      { enum: ['', ...formats.keys(), nativeFormatName], default: '' },
      'Tool-call format: how tools are put into the prompt and calls are detected; "" = what the model\'s chat template proves; native = the layout that is read off it.',
    ),
    ...fixedParams,
  });

/** Validated parameters of a ToolCall node. */
export type ToolCallParams = FromSchema<ReturnType<typeof toolCallParams>>;

const fixedParams = {
  tool_choice: string(
    { default: 'auto', live: true },
    'auto: the model decides; required: it has to call a tool; none: it is offered no tool; or the name of the tool that it has to call.',
  ),
  strict: boolean(
    { default: false, live: true },
    'Constrained decoding: calls always match the declared tools and parameters.',
  ),
  max_tokens_per_call: integer(
    { minimum: 1, default: 1024, live: true },
    'Largest number of tokens of a call, or of several in one reply, where decoding is constrained.',
  ),
  generate_on_no_tool: boolean(
    { default: false, live: true },
    'Whether the text is sent as the answer when it has no call.',
  ),
  stream: boolean(
    { default: false, live: true },
    'With generate_on_no_tool: sends the text as deltas while it is generated, as far as it cannot be a part of a call any more; text around calls is sent, too.',
  ),
  response_schema: object(
    'With generate_on_no_tool: an answer is one JSON value that matches this JSON Schema (constrained decoding), and calls match the declared tools and parameters.',
  ),
  notify_client: boolean({ default: true, live: true }, 'Sends a ToolCallNotification for each call.'),
  await_results: boolean(
    { default: false, live: true },
    'Waits for the results of the calls (SubmitToolResultsRequest); later nodes of the turn see calls and results.',
  ),
  results_timeout_ms: integer(
    { minimum: 1, maximum: 86_400_000, default: 30_000, live: true },
    'Milliseconds to wait for the results of one reply; then the exit is no_results.',
  ),
  max_rounds: integer(
    { minimum: 1, default: 8, live: true },
    'How often the model is asked for calls in one turn, on a loop; then the exit is no_tool_called.',
  ),
  on_incomplete: string(
    { enum: ['ask', 'notify'], default: 'ask', live: true },
    'A call without a required value, or a consequential one with an issue: ask = an insight in its place; notify = a notification with its issues.',
  ),
  min_confidence: number(
    { minimum: 0, maximum: 1, default: 0, live: true },
    'The least confidence of a call that is sent; the exit of a reply whose calls have less is unsure, and each is an insight ({{#unsure}}).',
  ),
  retries: integer(
    { minimum: 0, maximum: 2, live: true },
    'How often the model is asked again after a call that was cut off, unreadable or incomplete. Default: that of the format, mostly 0.',
  ),
  keep_pending: boolean(
    { default: true, live: true },
    'Keeps a call that is not sent because it lacks something: later messages can complete it.',
  ),
  pending_turns: integer(
    { minimum: 1, maximum: 100, default: 2, live: true },
    'For how many turns without progress such a call is kept.',
  ),
  thought: boolean(
    { default: false, live: true },
    'Offers each tool with a first parameter "thought": a short reason, which is only in the diagnostics.',
  ),
  spoken: string(
    { default: 'Done.', live: true, editor: 'multiline' },
    'Template of the line that later prompts show as the answer of a turn that called tools and sent no text.',
  ),
} as const satisfies Readonly<Record<string, Schema>>;

/** What a node derives from its live parameters. @throws InvalidParams for parameters that contradict each other. */
export function readSettings(params: ToolCallParams, context: NodeContext) {
  const { await_results, notify_client, generate_on_no_tool, stream, response_schema: schema } = params;
  if (await_results && !notify_client) {
    const message = 'needs notify_client: the client learns of a call by its notification; set notify_client to true';
    throw new InvalidParams([{ pointer: '/await_results', message }]);
  }
  const answering = stream ? '/stream' : schema ? '/response_schema' : undefined;
  if (answering !== undefined && !generate_on_no_tool) {
    const message = 'needs generate_on_no_tool: without it the node sends no text; set generate_on_no_tool to true';
    throw new InvalidParams([{ pointer: answering, message }]);
  }
  return {
    ...params,
    // With "notify" the client has each call, whatever it lacks.
    keep_pending: params.keep_pending && (params.on_incomplete === 'ask' || params.min_confidence > 0),
    system: templateParam('system_prompt', params.system_prompt, context),
    spoken: templateParam('spoken', params.spoken, context),
  };
}

/**
 * Resolves the format: the node's, else the catalogue's, else the one that the model proves.
 * @returns the format, why it was chosen, and a warning; "" = none.
 * @throws InvalidParams
 */
export function resolveFormat(named: string, { model, toolCallFormat }: ModelLease, formats: Formats) {
  const { toolDialect } = model;
  const { format: detected = '', because } = toolDialect;
  const { name, reason } = chooseFormat({ node: named, catalogue: toolCallFormat }, toolDialect);
  const available = formatsOf(toolDialect, formats);
  const format = available.get(name);
  if (!format) {
    const known = `there are ${[...available.keys()].join(', ')}${didYouMean(name, available.keys())}`;
    const message =
      name === nativeFormatName
        ? `cannot be native (${reason}), for the model has no layout of its own: ${because}; name another format, or none`
        : `is no format: "${name}" (${reason}); ${known}`;
    throw new InvalidParams([{ pointer: '/tool_call_format', message }]);
  }
  const contradicts = named !== '' && detected !== '' && named !== detected && named !== nativeFormatName;
  const doubt = named === '' && toolCallFormat === '' ? dialectWarning(toolDialect) : '';
  const warning = contradicts
    ? `is ${named}, but the model was trained on ${detected}: expect fewer and worse calls`
    : doubt && `is ${name} by default: ${doubt}`;
  return { format, reason, warning };
}
