import { randomInt } from 'node:crypto';
import { blockOf } from '../dialog.ts';
import { live } from '../graph/liveParams.ts';
import { Fault } from '../fault.ts';
import { accept, defineNode, ParamsRefused, type Supplies } from '../graph/node.ts';
import { compileTemplate } from '../graph/template.ts';
import type { Turn } from '../graph/turn.ts';
import type { ModelUse } from '../models/pool/pool.ts';
import { dialogue } from '../projection/chat.ts';
import { place } from '../projection/placement.ts';
import { withTools } from '../projection/withTools.ts';
import { didYouMean } from '../didYouMean.ts';
import { saidIn } from '../tools/validate/grounding.ts';
import { insightOf } from '../tools/validate/insight.ts';
import { issuesOf } from '../tools/validate/callIssues.ts';
import { flatArguments, typedMembers } from '../tools/validate/coerceArguments.ts';
import { choose } from '../tools/formats/chooseFormat.ts';
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
import { spokenIn } from '../tools/reasoning/reasoningFilter.ts';
import { jsonText } from '../tools/json/value.ts';
import { bindingOf, bindingParams, grammarOf, isAllowed } from './toolChoice.ts';
import { Inference, inferenceParams, modelOf, type Question } from './inference.ts';

// Above this small models get lost.
const manyTools = 8;

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
        ...bindingParams,
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
    async create(params, supplies) {
      const at = `${supplies.nodeName}.params`;
      const tools = readTools(params.tools, supplies);
      if (tools.size > manyTools)
        supplies.warn(`${at}.tools has ${tools.size} entries: small models get lost above ${manyTools}`);
      const settings = await live(params, (given) => ({
        ...given,
        binding: bindingOf(given, tools),
        system: accept('/system_prompt', compileTemplate(given.system_prompt, `${at}.system_prompt`)),
      }));
      const use = await modelOf(supplies, params.model_name);
      const { format, because, warning } = chooseFormat(params.tool_call_format, use, formats);
      if (warning !== '') supplies.warn(`${at}.tool_call_format ${warning}`);
      grammarOf(settings.now.binding, tools, format);
      const offering = withTools(use.model, blockOf([...tools.values()], format));
      const plain = dialogue(use.model);
      const inference = new Inference(use, { temperature: 0 });

      const question = (turn: Turn): Question => {
        const { system, sampling, thinking, tool_choice } = settings.now;
        const projection = tool_choice === 'none' ? plain : offering;
        return { projection, system: system.render(turn), current: place(turn.message), sampling, thinking };
      };
      const detect = async (turn: Turn): Promise<Detection> => {
        const notes = { tool_call_format: format.name, because };
        const grammar = grammarOf(settings.now.binding, tools, format);
        const wish = { controlTokens: true, notes, ...(grammar && { grammar }) };
        const { text } = await inference.complete(turn, question(turn), wish);
        return format.detect(text);
      };

      return {
        async run(turn) {
          const { tool_choice, binding, generate_on_no_tool, notify_client } = settings.now;
          if (tool_choice === 'none') {
            if (generate_on_no_tool) turn.say((await inference.complete(turn, question(turn))).text, 'whole');
            return 'no_tool_called';
          }
          const { calls, residual, truncated } = await detect(turn);
          if (truncated) turn.warn(`${supplies.nodeName} was cut off inside a call; raise sampling.max_tokens`);
          const allowed = calls.filter((call) => isAllowed(call, binding));
          if (allowed.length < calls.length) turn.warn(`${supplies.nodeName} wrote a call that its tools do not allow`);
          const standing = allowed.filter((call) => take(turn, call, tools.get(call.name), notify_client));
          if (standing.length > 0) return 'tool_called';
          if (generate_on_no_tool) turn.say(spokenIn(residual).trim(), 'whole');
          return 'no_tool_called';
        },
        warm: (turn) => inference.warm(turn, question(turn)),
        async change(given) {
          grammarOf(bindingOf(given, tools), tools, format);
          await settings.change(given);
        },
        [Symbol.asyncDispose]: () => inference[Symbol.asyncDispose](),
      };
    },
  });

function readTools(
  declarations: readonly ToolDeclaration[],
  { nodeName, limits }: Supplies,
): ReadonlyMap<string, Tool> {
  if (declarations.length > limits.tools) {
    const count = declarations.length;
    throw new Fault('LIMIT_EXCEEDED', `${nodeName}.params.tools has ${count} entries, and ${limits.tools} are allowed`);
  }
  const tools = new Map<string, Tool>();
  declarations.forEach((declaration, index) => {
    const pointer = `/tools/${index}`;
    const tool = accept(pointer, readTool(declaration));
    if (tools.has(tool.name)) {
      throw new ParamsRefused([{ pointer: `${pointer}/name`, message: `stands twice: "${tool.name}"` }]);
    }
    tools.set(tool.name, tool);
  });
  return tools;
}

function chooseFormat(
  wanted: string,
  { model, toolCallFormat }: ModelUse,
  formats: Formats,
): {
  readonly format: ToolCallFormat;
  readonly because: string;
  readonly warning: string;
} {
  const detected = model.detectedFormat ?? '';
  const { name, because } = choose({ node: wanted, catalogue: toolCallFormat, detected });
  const format = formats.get(name);
  if (!format) {
    const known = `there are ${[...formats.keys()].join(', ')}${didYouMean(name, formats.keys())}`;
    throw new ParamsRefused([
      { pointer: '/tool_call_format', message: `is no format: "${name}" (${because}); ${known}` },
    ]);
  }
  const contradicts = wanted !== '' && detected !== '' && wanted !== detected;
  const warning = contradicts
    ? `is ${wanted}, but the model was trained on ${detected}: expect fewer and worse calls`
    : '';
  return { format, because, warning };
}

/** Checks a call and records it, as an insight when something stands in its way; gives whether it stands. */
function take(turn: Turn, call: DetectedCall, tool: Tool | undefined, notify: boolean): boolean {
  const args = typedMembers(call.arguments, tool);
  const said = saidIn([...turn.dialog.interactions.map(({ user }) => user), turn.message]);
  const issues = issuesOf(call.name, args, tool, said);
  const insight = tool && insightOf(tool, issues);
  if (insight) {
    turn.missed(insight);
    return false;
  }
  const { name, arguments: written, repaired } = call;
  const known = tool !== undefined;
  const consequential = tool?.consequential ?? false;
  const texts = { flatArguments: flatArguments(written), typedArguments: jsonText(args) };
  turn.called({ id: callId(), name, ...texts, known, repaired, consequential, issues }, notify);
  return true;
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

// Nine of [A-Za-z0-9]: the template of Mistral refuses anything else.
const callId = (): string => Array.from({ length: 9 }, () => letters[randomInt(letters.length)]).join('');
