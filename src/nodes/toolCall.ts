import { randomInt } from 'node:crypto';
import { toToolBlock } from '../dialog.ts';
import { liveParams } from '../graph/liveParams.ts';
import { Fault } from '../fault.ts';
import { unwrapParam, defineNode, InvalidParams, type NodeContext } from '../graph/node.ts';
import { compileTemplate } from '../graph/template.ts';
import type { Turn } from '../graph/turn.ts';
import type { ModelLease } from '../models/pool/pool.ts';
import { chatProjection } from '../projection/chat.ts';
import { placeTemplate } from '../projection/placement.ts';
import { toolProjection } from '../projection/withTools.ts';
import { didYouMean } from '../didYouMean.ts';
import { collectMentions } from '../tools/validate/grounding.ts';
import { createInsight } from '../tools/validate/insight.ts';
import { validateCall } from '../tools/validate/callIssues.ts';
import { argumentsAsStrings, coerceArguments } from '../tools/validate/coerceArguments.ts';
import { chooseFormat } from '../tools/formats/chooseFormat.ts';
import type { Formats } from '../tools/formats/index.ts';
import {
  readTool,
  toolSchema,
  type DetectedCall,
  type Detection,
  type Tool,
  type ToolCallFormat,
  type ToolDeclaration,
} from '../tools/tool.ts';
import { stripReasoning } from '../tools/reasoning/reasoningFilter.ts';
import { stringifyJson } from '../tools/json/value.ts';
import { resolveToolChoice, toolChoiceParams, createCallGrammar, isAllowed } from './toolChoice.ts';
import { InferenceRunner, inferenceParams, resolveModel, type PromptRequest } from './inference.ts';

// Above this small models get lost.
const recommendedMaxTools = 8;

/** Finds out whether the model wishes to call a tool, and tells the client; it never runs one. */
export const toolCallWith = (formats: Formats) =>
  defineNode({
    type: 'ToolCall',
    summary: 'Offers tools to a model, reads calls out of its text and notifies the client of each.',
    params: {
      type: 'object',
      additionalProperties: false,
      required: ['tools'],
      properties: {
        ...inferenceParams,
        tools: { type: 'array', minItems: 1, items: toolSchema, description: 'The tools on offer.' },
        tool_call_format: {
          type: 'string',
          enum: ['', ...formats.keys()],
          default: '',
          description: 'How tools are written and calls are read; "" = the model\'s own.',
        },
        ...toolChoiceParams,
        generate_on_no_tool: {
          type: 'boolean',
          default: false,
          live: true,
          description: 'Without a call, sends the text as the answer.',
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
    async create(params, context) {
      const at = `${context.nodeName}.params`;
      const tools = readTools(params.tools, context);
      if (tools.size > recommendedMaxTools)
        context.warn(`${at}.tools has ${tools.size} entries: small models get lost above ${recommendedMaxTools}`);
      const settings = await liveParams(params, (given) => ({
        ...given,
        binding: resolveToolChoice(given, tools),
        system: unwrapParam('/system_prompt', compileTemplate(given.system_prompt, `${at}.system_prompt`)),
      }));
      const use = await resolveModel(context, params.model_name);
      const { format, reason, warning } = resolveFormat(params.tool_call_format, use, formats);
      if (warning !== '') context.warn(`${at}.tool_call_format ${warning}`);
      createCallGrammar(settings.current.binding, tools, format);
      const offering = toolProjection(use.model, toToolBlock([...tools.values()], format));
      const plain = chatProjection(use.model);
      const inference = new InferenceRunner(use, { temperature: 0 });

      const question = (turn: Turn): PromptRequest => {
        const { system, sampling, thinking, tool_choice } = settings.current;
        const projection = tool_choice === 'none' ? plain : offering;
        return { projection, system: system.render(turn), current: placeTemplate(turn.message), sampling, thinking };
      };
      const detect = async (turn: Turn): Promise<Detection> => {
        const notes = { tool_call_format: format.name, because: reason };
        const grammar = createCallGrammar(settings.current.binding, tools, format);
        const wish = { controlTokens: true, notes, ...(grammar && { grammar }) };
        const { text } = await inference.complete(turn, question(turn), wish);
        return format.detect(text);
      };

      return {
        async run(turn) {
          const { tool_choice, binding, generate_on_no_tool, notify_client } = settings.current;
          if (tool_choice === 'none') {
            if (generate_on_no_tool) turn.sendText((await inference.complete(turn, question(turn))).text, 'whole');
            return 'no_tool_called';
          }
          const { calls, residual, truncated } = await detect(turn);
          if (truncated) turn.warn(`${context.nodeName} was cut off inside a call; raise sampling.max_tokens`);
          const allowed = calls.filter((call) => isAllowed(call, binding));
          if (allowed.length < calls.length) turn.warn(`${context.nodeName} wrote a call that its tools do not allow`);
          const standing = allowed.filter((call) => recordOrReject(turn, call, tools.get(call.name), notify_client));
          if (standing.length > 0) return 'tool_called';
          if (generate_on_no_tool) turn.sendText(stripReasoning(residual).trim(), 'whole');
          return 'no_tool_called';
        },
        warmUp: (turn) => inference.prefill(turn, question(turn)),
        async change(given) {
          createCallGrammar(resolveToolChoice(given, tools), tools, format);
          await settings.change(given);
        },
        [Symbol.asyncDispose]: () => inference[Symbol.asyncDispose](),
      };
    },
  });

function readTools(
  declarations: readonly ToolDeclaration[],
  { nodeName, limits }: NodeContext,
): ReadonlyMap<string, Tool> {
  if (declarations.length > limits.tools) {
    const count = declarations.length;
    throw new Fault('LIMIT_EXCEEDED', `${nodeName}.params.tools has ${count} entries, and ${limits.tools} are allowed`);
  }
  const tools = new Map<string, Tool>();
  declarations.forEach((declaration, index) => {
    const pointer = `/tools/${index}`;
    const tool = unwrapParam(pointer, readTool(declaration));
    if (tools.has(tool.name)) {
      throw new InvalidParams([{ pointer: `${pointer}/name`, message: `stands twice: "${tool.name}"` }]);
    }
    tools.set(tool.name, tool);
  });
  return tools;
}

function resolveFormat(
  wanted: string,
  { model, toolCallFormat }: ModelLease,
  formats: Formats,
): {
  readonly format: ToolCallFormat;
  readonly reason: string;
  readonly warning: string;
} {
  const detected = model.detectedFormat ?? '';
  const { name, reason } = chooseFormat({ node: wanted, catalogue: toolCallFormat, detected });
  const format = formats.get(name);
  if (!format) {
    const known = `there are ${[...formats.keys()].join(', ')}${didYouMean(name, formats.keys())}`;
    throw new InvalidParams([
      { pointer: '/tool_call_format', message: `is no format: "${name}" (${reason}); ${known}` },
    ]);
  }
  const contradicts = wanted !== '' && detected !== '' && wanted !== detected;
  const warning = contradicts
    ? `is ${wanted}, but the model was trained on ${detected}: expect fewer and worse calls`
    : '';
  return { format, reason, warning };
}

/** Checks a call and records it, as an insight when something stands in its way; gives whether it stands. */
function recordOrReject(turn: Turn, call: DetectedCall, tool: Tool | undefined, notify: boolean): boolean {
  const args = coerceArguments(call.arguments, tool);
  const said = collectMentions([...turn.dialog.interactions.map(({ user }) => user), turn.message]);
  const issues = validateCall(call.name, args, tool, said);
  const insight = tool && createInsight(tool, issues);
  if (insight) {
    turn.recordInsight(insight);
    return false;
  }
  const { name, arguments: written, repaired } = call;
  const known = tool !== undefined;
  const consequential = tool?.consequential ?? false;
  const texts = { flatArguments: argumentsAsStrings(written), typedArguments: stringifyJson(args) };
  turn.recordCall({ id: callId(), name, ...texts, known, repaired, consequential, issues }, notify);
  return true;
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

// Nine of [A-Za-z0-9]: the template of Mistral refuses anything else.
const callId = (): string => Array.from({ length: 9 }, () => letters[randomInt(letters.length)]).join('');
