import { unwrapParam, type NodeContext } from '../../compile/node.ts';
import type { ToolChoice } from '../../../chat/grammar/grammar.ts';
import { ruleFromSchema } from '../../../chat/grammar/jsonSchema/fromSchema.ts';
import type { Rule } from '../../../chat/grammar/rule.ts';
import { withSampleEnums } from '../../../chat/tools/declaration/enumSource.ts';
import type { Tool } from '../../../chat/tool.ts';
import { constrainArguments, toolsError } from './callConstraint.ts';
import { readTools } from './readTools.ts';
import { withThought } from './thought.ts';
import { readToolChoice } from './toolChoice.ts';
import type { ToolCallParams } from './toolCallParams.ts';

// With more tools, small models choose badly.
const recommendedMaxTools = 8;

/** The parameters that the offers of a node depend on. */
export type OfferParams = Pick<
  ToolCallParams,
  'tools' | 'tools_from' | 'tool_choice' | 'strict' | 'thought' | 'response_schema'
>;

/** The tools of a node and its tool choice, checked without a model. */
export interface DeclaredOffer {
  /** The tools as they were declared, by name. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** undefined: `none`. */
  readonly choice: ToolChoice | undefined;
  /** Whether calls are constrained; they are where answers are. */
  readonly strict: boolean;
  /** What a reply without a call has to match; undefined: it is free. */
  readonly answer: Rule | undefined;
  /** Whether only those of the tools are offered that are selected in a turn. */
  readonly needsSelection: boolean;
  /** Whether the model sees each tool with the parameter `thought`. */
  readonly thought: boolean;
}

/** The choice once a node has results in a turn: `required` and a name would never end a loop, so they count as `auto`. */
export const laterChoice: ToolChoice = { kind: 'auto' };

/** Reads the tools and the tool choice of a node. @throws InvalidParams */
export function declareOffer(params: OfferParams, context: NodeContext): DeclaredOffer {
  const { thought, tool_choice, tools_from, response_schema: schema } = params;
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
  const declared = { tools, choice, strict, answer, needsSelection, thought };
  try {
    for (const offer of offersToCheck({ ...declared, tools: seenTools(tools, thought) }))
      constrainArguments([...offer.tools.values()], { choice: offer.choice, strict });
  } catch (error) {
    throw toolsError(error, tools);
  }
  return declared;
}

/** Tools as the model sees them. @throws InvalidParams for a tool that has a parameter `thought` of its own. */
export const seenTools = (tools: ReadonlyMap<string, Tool>, thought: boolean): ReadonlyMap<string, Tool> =>
  thought ? withThought(tools) : tools;

/** Tools that are offered together, and the choice among them. */
export interface OfferedTools {
  readonly tools: ReadonlyMap<string, Tool>;
  readonly choice: ToolChoice;
}

/**
 * The offers that are checked before any turn: all tools, with each choice that a turn can have. Values that come from a
 * variable of the turn are not known, so there is one in their place. Which tools will be
 * selected together is not known, so of a node that needs a selection each tool is checked alone.
 */
export function* offersToCheck({ tools, choice, needsSelection }: DeclaredOffer): Generator<OfferedTools> {
  const all = new Map([...tools].map(([name, tool]) => [name, withSampleEnums(tool)]));
  const groups = needsSelection ? [...all].map((entry) => new Map([entry])) : [all];
  const choices = choice ? [choice, ...(choice.kind === 'auto' ? [] : [laterChoice])] : [];
  for (const each of choices)
    for (const group of groups) if (each.kind !== 'tool' || group.has(each.name)) yield { tools: group, choice: each };
}

/** Whether two sets of parameters have the same offers. */
export const isSameOffer = (a: OfferParams, b: OfferParams): boolean => offerKey(a) === offerKey(b);

// tools_from and response_schema are not live.
const offerKey = ({ tools, tool_choice, strict, thought }: OfferParams): string =>
  JSON.stringify([tools, tool_choice, strict, thought]);
