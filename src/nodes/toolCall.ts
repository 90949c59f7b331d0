import { randomInt } from 'node:crypto';
import { toToolBlock } from '../dialog.ts';
import { runChunk } from '../eventLoop.ts';
import { liveParams } from '../graph/liveParams.ts';
import { unwrapParam, defineNode, InvalidParams, type NodeContext } from '../graph/node.ts';
import { compileTemplate } from '../graph/template.ts';
import type { Turn } from '../graph/turn.ts';
import type { ModelLease } from '../models/pool/lease.ts';
import { chatProjection } from '../projection/chat.ts';
import { placeTemplate } from '../projection/placement.ts';
import { toolProjection } from '../projection/withTools.ts';
import { didYouMean } from '../didYouMean.ts';
import { collectMentions, type UserMentions } from '../tools/validate/grounding.ts';
import { createInsight } from '../tools/validate/insight.ts';
import { validateCall } from '../tools/validate/callIssues.ts';
import { argumentsAsStrings, coerceArguments } from '../tools/validate/coerceArguments.ts';
import { chooseFormat } from '../tools/formats/chooseFormat.ts';
import type { Formats } from '../tools/formats/index.ts';
import { dialectWarning, formatsOf } from '../tools/native/dialectFormats.ts';
import { nativeFormatName } from '../tools/native/nativeFormat.ts';
import {
  readTool,
  toolSchema,
  type DetectedCall,
  type Tool,
  type ToolCallFormat,
  type ToolDeclaration,
} from '../tools/tool.ts';
import { stringifyJson } from '../tools/json/value.ts';
import { parseReply, type ParsedReply } from '../tools/parseReply.ts';
import { createCallConstraint, isAllowed, resolveToolChoice, toolChoiceParams } from './toolChoice.ts';
import { InferenceRunner, inferenceParams, resolveModel, type PromptRequest } from './inference.ts';

// With more tools, small models choose badly.
const recommendedMaxTools = 8;

/** The ToolCall node: detects tool calls in a model's text and notifies the client of them. It never executes one. */
export const toolCallWith = (formats: Formats) =>
  defineNode({
    type: 'ToolCall',
    summary: 'Offers tools to a model, detects calls in its text and notifies the client of each.',
    params: {
      type: 'object',
      additionalProperties: false,
      required: ['tools'],
      properties: {
        ...inferenceParams,
        tools: { type: 'array', minItems: 1, items: toolSchema, description: 'The tools that the model may call.' },
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
        notify_client: {
          type: 'boolean',
          default: true,
          live: true,
          description: 'Sends a ToolCallNotification for each call.',
        },
      },
    },
    exits: ['tool_called', 'no_tool_called'],
    output: ({ tool_choice, generate_on_no_tool, notify_client }) => ({
      ...(generate_on_no_tool && { text: 'sent' }),
      silentExits: [
        ...(notify_client ? [] : ['tool_called']),
        // With another choice the model has to call a tool.
        ...(generate_on_no_tool || !['auto', 'none'].includes(tool_choice) ? [] : ['no_tool_called']),
      ],
    }),
    async create(params, context) {
      const place = `${context.nodeName}.params`;
      const tools = readTools(params.tools, context);
      if (tools.size > recommendedMaxTools)
        context.warn(`${place}.tools has ${tools.size} entries: small models get lost above ${recommendedMaxTools}`);
      const resolvedChoice = resolveToolChoice(params, tools);
      const settings = await liveParams(params, (current) => ({
        ...current,
        system: unwrapParam('/system_prompt', compileTemplate(current.system_prompt, `${place}.system_prompt`)),
      }));
      const lease = await resolveModel(context, params.model_name);
      const { format, reason, warning } = resolveFormat(params.tool_call_format, lease, formats);
      if (warning !== '') context.warn(`${place}.tool_call_format ${warning}`);
      let constraint = await runChunk(() => createCallConstraint(resolvedChoice, tools, format));
      const offeringProjection = toolProjection(lease.model, toToolBlock([...tools.values()], format));
      const plainProjection = chatProjection(lease.model);
      const inference = new InferenceRunner(lease, context, { temperature: 0 });

      const createRequest = (turn: Turn): PromptRequest => {
        const { system, sampling, thinking, max_thinking_tokens, tool_choice } = settings.current;
        return {
          projection: tool_choice === 'none' ? plainProjection : offeringProjection,
          system: system.render(turn),
          current: placeTemplate(turn.message),
          sampling,
          thinking,
          maxThinkingTokens: max_thinking_tokens,
        };
      };
      const complete = async (turn: Turn): Promise<ParsedReply> => {
        const notes = { tool_call_format: format.name, because: reason };
        const { grammar } = constraint;
        const options = { controlTokens: true, notes, ...(grammar && { grammar }) };
        const { text } = await inference.complete(turn, createRequest(turn), options);
        return parseReply(text, format, { tools: [...tools.values()], marks: lease.model.replyMarks });
      };

      return {
        async run(turn) {
          const { tool_choice, generate_on_no_tool, notify_client } = settings.current;
          if (tool_choice === 'none') {
            if (generate_on_no_tool) turn.say((await inference.complete(turn, createRequest(turn))).text, 'whole');
            return 'no_tool_called';
          }
          const { calls, content, truncated } = await complete(turn);
          if (truncated) turn.warn(`${context.nodeName} was cut off inside a call; raise sampling.max_tokens`);
          const allowed: DetectedCall[] = [];
          for (const call of calls) if (await isAllowed(call, constraint)) allowed.push(call);
          if (allowed.length < calls.length) turn.warn(`${context.nodeName} wrote a call that its tools do not allow`);
          const record = { mentions: lazyMentions(turn), notify: notify_client };
          const accepted = allowed.filter((call) => recordOrReject(turn, call, tools.get(call.name), record));
          if (accepted.length > 0) return 'tool_called';
          if (generate_on_no_tool) turn.say(content, 'whole');
          return 'no_tool_called';
        },
        warmUp: (turn) => inference.prefill(turn, createRequest(turn)),
        async change(changed) {
          const { tool_choice, strict } = settings.current;
          const isSameChoice = changed.tool_choice === tool_choice && changed.strict === strict;
          const next = isSameChoice
            ? constraint
            : createCallConstraint(resolveToolChoice(changed, tools), tools, format);
          await settings.change(changed);
          constraint = next;
        },
        [Symbol.asyncDispose]: () => inference[Symbol.asyncDispose](),
      };
    },
  });

function readTools(declarations: readonly ToolDeclaration[], { limits }: NodeContext): ReadonlyMap<string, Tool> {
  if (declarations.length > limits.tools) {
    const count = declarations.length;
    const message = `has ${count} entries, and ${limits.tools} are allowed`;
    throw new InvalidParams([{ pointer: '/tools', message, code: 'LIMIT_EXCEEDED' }]);
  }
  const tools = new Map<string, Tool>();
  declarations.forEach((declaration, index) => {
    const pointer = `/tools/${index}`;
    const tool = unwrapParam(pointer, readTool(declaration));
    if (tools.has(tool.name)) {
      throw new InvalidParams([{ pointer: `${pointer}/name`, message: `is declared twice: "${tool.name}"` }]);
    }
    tools.set(tool.name, tool);
  });
  return tools;
}

function resolveFormat(
  named: string,
  { model, toolCallFormat }: ModelLease,
  formats: Formats,
): {
  readonly format: ToolCallFormat;
  readonly reason: string;
  /** "" = none. */
  readonly warning: string;
} {
  const { toolDialect } = model;
  const { format: detected = '', because } = toolDialect;
  const { name, reason } = chooseFormat({ node: named, catalogue: toolCallFormat, detected, because });
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
  const isDefault = named === '' && toolCallFormat === '';
  const warning = contradicts
    ? `is ${named}, but the model was trained on ${detected}: expect fewer and worse calls`
    : isDefault && dialectWarning(toolDialect) !== ''
      ? `is ${name} by default: ${dialectWarning(toolDialect)}`
      : '';
  return { format, reason, warning };
}

interface RecordOptions {
  readonly mentions: () => UserMentions;
  /** Whether the client is notified of a recorded call. */
  readonly notify: boolean;
}

/** Validates a call and records it, or records an insight in its place; returns whether the call was recorded. */
function recordOrReject(
  turn: Turn,
  call: DetectedCall,
  tool: Tool | undefined,
  { mentions, notify }: RecordOptions,
): boolean {
  const args = coerceArguments(call.arguments, tool);
  const issues = validateCall(call.name, args, tool, mentions());
  const insight = tool && createInsight(tool, issues);
  if (insight) {
    turn.recordInsight(insight);
    return false;
  }
  const { name, arguments: uncoerced, repaired } = call;
  const known = tool !== undefined;
  const consequential = tool?.consequential ?? false;
  const texts = { flatArguments: argumentsAsStrings(uncoerced), typedArguments: stringifyJson(args) };
  turn.recordCall({ id: createCallId(), name, ...texts, known, repaired, consequential, issues }, notify);
  return true;
}

// Tokenizes the whole dialog, so only for a turn with a call, and once for all calls of it.
function lazyMentions({ dialog, message }: Turn): () => UserMentions {
  let mentions: UserMentions | undefined;
  return () => (mentions ??= collectMentions([...dialog.interactions.map(({ user }) => user), message]));
}

const idCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
// The chat template of Mistral accepts only ids of exactly nine of these characters.
const idLength = 9;

const createCallId = (): string =>
  Array.from({ length: idLength }, () => idCharacters[randomInt(idCharacters.length)]).join('');
