import type { NodeContext } from '../../graph/node.ts';
import type { ToolChoice } from '../../tools/grammar/grammar.ts';
import type { Tool } from '../../tools/tool.ts';
import { constrainArguments, toolsError } from './callConstraint.ts';
import { readTools } from './readTools.ts';
import { withThought } from './thought.ts';
import { readToolChoice } from './toolChoice.ts';
import type { ToolCallParams } from './toolCallParams.ts';

// With more tools, small models choose badly.
const recommendedMaxTools = 8;

/** The parameters that the offers of a node depend on. */
export type OfferParams = Pick<ToolCallParams, 'tools' | 'tool_choice' | 'strict' | 'thought'>;

/** The tools of a node and its tool choice, checked without a model. */
export interface DeclaredOffer {
  /** The tools as they were declared, by name. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** undefined: `none`. */
  readonly choice: ToolChoice | undefined;
  readonly strict: boolean;
  /** Whether the model sees each tool with the parameter `thought`. */
  readonly thought: boolean;
}

/** The choice once a node has results in a turn: `required` and a name would never end a loop, so they count as `auto`. */
export const laterChoice: ToolChoice = { kind: 'auto' };

/** Reads the tools and the tool choice of a node. @throws InvalidParams */
export function declareOffer(params: OfferParams, context: NodeContext): DeclaredOffer {
  const { strict, thought, tool_choice } = params;
  const tools = readTools(params, context);
  if (tools.size > recommendedMaxTools) {
    const place = `${context.nodeName}.params.tools`;
    context.warn(`${place} has ${tools.size} entries: small models get lost above ${recommendedMaxTools}`);
  }
  const offered = seenTools(tools, thought);
  const choice = readToolChoice(tool_choice, offered);
  checkArguments(offered, { choice, strict });
  return { tools, choice, strict, thought };
}

/** Tools as the model sees them. @throws InvalidParams for a tool that has a parameter `thought` of its own. */
export const seenTools = (tools: ReadonlyMap<string, Tool>, thought: boolean): ReadonlyMap<string, Tool> =>
  thought ? withThought(tools) : tools;

/** The choices that a node needs grammars for: its own, and the one for a turn with results. */
export const choicesOf = ({ choice }: Pick<DeclaredOffer, 'choice'>): readonly ToolChoice[] =>
  choice ? [choice, ...(choice.kind === 'auto' ? [] : [laterChoice])] : [];

/** @throws InvalidParams for tools that no grammar can express. */
function checkArguments(tools: ReadonlyMap<string, Tool>, offer: Pick<DeclaredOffer, 'choice' | 'strict'>): void {
  try {
    for (const choice of choicesOf(offer)) constrainArguments([...tools.values()], { choice, strict: offer.strict });
  } catch (error) {
    throw toolsError(error, tools);
  }
}

/** Whether two sets of parameters have the same offers. */
export const isSameOffer = (a: OfferParams, b: OfferParams): boolean => offerKey(a) === offerKey(b);

const offerKey = ({ tools, tool_choice, strict, thought }: OfferParams): string =>
  JSON.stringify([tools, tool_choice, strict, thought]);
