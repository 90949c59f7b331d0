import type { Formats } from '../../../chat/formats/index.ts';
import { nativeFormatName } from '../../../chat/dialect/nativeFormat.ts';
import { toolSchema } from '../../../chat/tools/declaration/toolSchema.ts';
import type { FromSchema, ObjectSchema } from '../../../protocol/schema.ts';
import { inferenceParams } from '../inference.ts';
import { toolChoiceParams } from './toolChoice.ts';

/** Parameters of a ToolCall node, for the formats that can be named. */
export const toolCallParams = (formats: Formats) =>
  ({
    type: 'object',
    additionalProperties: false,
    required: ['tools'],
    properties: {
      ...inferenceParams,
      tools: {
        type: 'array',
        minItems: 1,
        live: true,
        items: toolSchema,
        description: 'The tools that the model may call.',
      },
      tools_from: {
        type: 'string',
        enum: ['node', 'selection'],
        default: 'node',
        description:
          'Which of its tools the node offers in a turn: node = all; selection = those that a node before it selected, such as SelectTools. Where none is selected, the model is not asked, and the exit is no_tool_called.',
      },
      tool_call_format: {
        type: 'string',
        enum: ['', ...formats.keys(), nativeFormatName],
        default: '',
        description:
          'Tool-call format: how tools are put into the prompt and calls are detected; "" = what the model\'s chat template proves; native = the layout that is read off it.',
      },
      ...toolChoiceParams,
      generate_on_no_tool: {
        type: 'boolean',
        default: false,
        live: true,
        description: 'Whether the text is sent as the answer when it has no call.',
      },
      stream: {
        type: 'boolean',
        default: false,
        live: true,
        description:
          'With generate_on_no_tool: sends the text as deltas while it is generated, as far as it cannot be a part of a call any more; text around calls is sent, too.',
      },
      response_schema: {
        type: 'object',
        description:
          'With generate_on_no_tool: an answer is one JSON value that matches this JSON Schema (constrained decoding), and calls match the declared tools and parameters.',
      },
      notify_client: {
        type: 'boolean',
        default: true,
        live: true,
        description: 'Sends a ToolCallNotification for each call.',
      },
      await_results: {
        type: 'boolean',
        default: false,
        live: true,
        description:
          'Waits for the results of the calls (SubmitToolResultsRequest); later nodes of the turn see calls and results.',
      },
      results_timeout_ms: {
        type: 'integer',
        minimum: 1,
        maximum: 86_400_000,
        default: 30_000,
        live: true,
        description: 'Milliseconds to wait for the results of one reply; then the exit is no_results.',
      },
      max_rounds: {
        type: 'integer',
        minimum: 1,
        default: 8,
        live: true,
        description: 'How often the model is asked for calls in one turn, on a loop; then the exit is no_tool_called.',
      },
      on_incomplete: {
        type: 'string',
        enum: ['ask', 'notify'],
        default: 'ask',
        live: true,
        description:
          'A call without a required value, or a consequential one with an issue: ask = an insight in its place; notify = a notification with its issues.',
      },
      retries: {
        type: 'integer',
        minimum: 0,
        maximum: 2,
        live: true,
        description:
          'How often the model is asked again after a call that was cut off, unreadable or incomplete. Default: that of the format, mostly 0.',
      },
      thought: {
        type: 'boolean',
        default: false,
        live: true,
        description:
          'Offers each tool with a first parameter "thought": a short reason, which is only in the diagnostics.',
      },
      spoken: {
        type: 'string',
        default: 'Done.',
        live: true,
        editor: 'multiline',
        description:
          'Template of the line that later prompts show as the answer of a turn that called tools and sent no text.',
      },
    },
  }) as const satisfies ObjectSchema;

/** Validated parameters of a ToolCall node. */
export type ToolCallParams = FromSchema<ReturnType<typeof toolCallParams>>;
