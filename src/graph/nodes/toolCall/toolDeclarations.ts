import { didYouMean, listNames } from '../../../base/didYouMean.ts';
import { errorsBelow, type SchemaError } from '../../../protocol/schema.ts';
import type { ToolChoice } from '../../../chat/grammar/rule.ts';
import { ruleFromSchema } from '../../../chat/grammar/jsonSchema/fromSchema.ts';
import type { JsonObject } from '../../../chat/json/value.ts';
import type { DetectedCall, Tool } from '../../../chat/tool.ts';
import { withSampleEnums } from '../../../chat/tools/declaration/enumSource.ts';
import { readTool } from '../../../chat/tools/declaration/readTool.ts';
import { findDeclaration } from '../../compile/clientTools.ts';
import { describeParam } from '../../compile/document.ts';
import { assertCount, InvalidParams, unwrapParam, type NodeContext } from '../../compile/node.ts';
import { constrainArguments, type ConstraintOptions, toolsError } from './callConstraint.ts';
import type { ToolCallParams } from './toolCallParams.ts';

// With more tools, small models choose badly.
const recommendedMaxTools = 8;

/** The tools that a node declares and its tool choice, read without a model; the same in every turn. */
export interface ToolDeclarations extends Omit<ConstraintOptions, 'choice'> {
  /** By name. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** undefined: `none`. */
  readonly choice: ToolChoice | undefined;
  /** Whether only those of the tools are offered that are selected in a turn. */
  readonly needsSelection: boolean;
  /** Whether the model sees each tool with the parameter `thought`. */
  readonly thought: boolean;
}

/** The choice once a node has results in a turn: `required` and a name would never end a loop, so they count as `auto`. */
export const laterChoice: ToolChoice = { kind: 'auto' };

/** Reads the tools and the tool choice of a node. @throws InvalidParams */
export function readToolDeclarations(params: ToolCallParams, context: NodeContext): ToolDeclarations {
  const { thought, tool_choice, tools_from, max_tokens_per_call: maxTokensPerCall, response_schema: schema } = params;
  const needsSelection = tools_from === 'selection';
  const tools = readTools(params, context);
  // Of selected tools, the node that selects them has a limit.
  if (!needsSelection && tools.size > recommendedMaxTools) {
    const place = `${context.nodeName}.params.tools`;
    context.warn(`${place} has ${tools.size} entries: small models get lost above ${recommendedMaxTools}`);
  }
  const choice = readToolChoice(tool_choice, tools);
  const answer = schema && unwrapParam('/response_schema', ruleFromSchema(schema));
  const strict = params.strict || answer !== undefined;
  const declarations = { tools, choice, strict, maxTokensPerCall, answer, needsSelection, thought };
  try {
    const prompted = { ...declarations, tools: promptedTools(tools, thought) };
    for (const { tools: group, choice: each } of groupsToCheck(prompted))
      constrainArguments([...group.values()], { choice: each, strict });
  } catch (error) {
    throw toolsError(error, tools);
  }
  return declarations;
}

/** Reads the tools, by name; warnings are those of the agent. @throws InvalidParams with the errors of all tools. */
function readTools(
  { tools: declarations, strict }: ToolCallParams,
  { limits, nodeName, clientTools, warn }: NodeContext,
): ReadonlyMap<string, Tool> {
  assertCount('/tools', declarations.length, 'entries', limits.maxTools);
  const named = declarations.filter((entry) => typeof entry === 'string');
  if (!clientTools && named.length > 0)
    warn(`${nodeName}.params.tools only names ${listNames(named)}: the program brings them with createAgent`);
  const tools = new Map<string, Tool>();
  const errors: SchemaError[] = [];
  for (const [index, entry] of declarations.entries()) {
    const pointer = `/tools/${index}`;
    const declaration = findDeclaration(entry, clientTools);
    const onWarning = (warning: SchemaError): void => {
      // With a strict node this tool is strict, as it asks for.
      if (strict && warning.pointer === '/function/strict') return;
      warn(`${describeParam(nodeName, pointer + warning.pointer)} ${warning.message}`);
    };
    const reading = declaration.ok ? readTool(declaration.value, onWarning) : declaration;
    if (!reading.ok) {
      errors.push(...errorsBelow(pointer, reading.errors));
      continue;
    }
    const { name, origin } = reading.value;
    if (tools.has(name))
      errors.push({ pointer: `${pointer}${origin?.pointer ?? ''}/name`, message: `is declared twice: "${name}"` });
    tools.set(name, reading.value);
  }
  if (errors.length > 0) throw new InvalidParams(errors);
  return tools;
}

const choiceKinds = ['auto', 'required', 'none'] as const;

/** Reads `tool_choice`; undefined: `none`. @throws InvalidParams for a tool that does not exist. */
function readToolChoice(value: string, tools: ReadonlyMap<string, Tool>): ToolChoice | undefined {
  if (value === 'none') return undefined;
  if (value === 'auto' || value === 'required') return { kind: value };
  if (tools.has(value)) return { kind: 'tool', name: value };
  const hint = didYouMean(value, [...choiceKinds, ...tools.keys()]);
  const message = `must be ${choiceKinds.join(', ')} or the name of one of the tools, not "${value}"${hint}`;
  throw new InvalidParams([{ pointer: '/tool_choice', message }]);
}

/**
 * The groups of tools that are checked before any turn: all tools, with each choice that a turn can have. Values that come
 * from a variable of the turn are not known, so there is one in their place. Which tools will be selected together is not
 * known, so of a node that needs a selection each tool is checked alone.
 */
export function* groupsToCheck({ tools, choice, needsSelection }: ToolDeclarations) {
  const all = new Map([...tools].map(([name, tool]) => [name, withSampleEnums(tool)]));
  const groups = needsSelection ? [...all].map((entry) => new Map([entry])) : [all];
  const choices = choice ? [choice, ...(choice.kind === 'auto' ? [] : [laterChoice])] : [];
  for (const each of choices)
    for (const group of groups) if (each.kind !== 'tool' || group.has(each.name)) yield { tools: group, choice: each };
}

/** Equal for parameters with the same declarations; tools_from and response_schema are not live. */
export const declarationsKey = ({
  tools,
  tool_choice,
  strict,
  max_tokens_per_call,
  thought,
}: Omit<ToolCallParams, 'spoken'>): string =>
  JSON.stringify([tools, tool_choice, strict, max_tokens_per_call, thought]);

/** The parameter that `thought` adds. */
export const thoughtName = 'thought';

// In characters; `strict` enforces it.
const maxThoughtLength = 200;

const thoughtSchema = {
  type: 'string',
  description: 'Why this tool is called, in one short sentence.',
  maxLength: maxThoughtLength,
} as const;

/**
 * Tools as the model sees them.
 * @param thought whether each has a first, optional parameter `thought`.
 * @throws InvalidParams for a tool that has such a parameter of its own.
 */
export function promptedTools(tools: ReadonlyMap<string, Tool>, thought: boolean): ReadonlyMap<string, Tool> {
  if (!thought) return tools;
  return new Map(
    [...tools].map(([name, tool]) => {
      const { properties = {} } = tool.parameters;
      if (Object.hasOwn(properties, thoughtName)) {
        const message = `adds a parameter "${thoughtName}", which the tool "${name}" has itself; rename that one, or leave thought out`;
        throw new InvalidParams([{ pointer: '/thought', message }]);
      }
      const parameters = { ...tool.parameters, properties: { [thoughtName]: thoughtSchema, ...properties } };
      return [name, { ...tool, parameters }];
    }),
  );
}

/** A call without its thought, and the thought. */
export function splitThought(call: DetectedCall) {
  const value = call.arguments.get(thoughtName);
  if (typeof value !== 'string') return { call, thought: call.thought };
  const rest: JsonObject = new Map([...call.arguments].filter(([name]) => name !== thoughtName));
  return { call: { ...call, arguments: rest }, thought: call.thought ?? value };
}
