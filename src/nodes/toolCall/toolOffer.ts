import { toToolBlock } from '../../dialog.ts';
import type { Model } from '../../engine/engine.ts';
import { runChunk } from '../../eventLoop.ts';
import type { NodeContext } from '../../graph/node.ts';
import type { Projection } from '../../projection/projection.ts';
import { toolProjection } from '../../projection/withTools.ts';
import type { Tool, ToolCallFormat } from '../../tools/tool.ts';
import { readTools } from './readTools.ts';
import { withThought } from './thought.ts';
import { createCallConstraint, resolveToolChoice, type CallConstraint, type ResolvedToolChoice } from './toolChoice.ts';
import type { ToolCallParams } from './toolCallParams.ts';

// With more tools, small models choose badly.
const recommendedMaxTools = 8;

/** The parameters that an offer depends on. */
export type OfferParams = Pick<ToolCallParams, 'tools' | 'tool_choice' | 'strict' | 'thought'>;

/** The tools of a node and its tool choice, checked without a model. */
export interface DeclaredOffer {
  /** The tools as they were declared, by name. */
  readonly declared: ReadonlyMap<string, Tool>;
  /** The tools as the model sees them: with the parameter `thought`, if the node has it. */
  readonly offered: ReadonlyMap<string, Tool>;
  readonly choice: ResolvedToolChoice;
  /** The choice once the node has results in a turn: `required` and a name would never end a loop, so they count as `auto`. */
  readonly laterChoice: ResolvedToolChoice;
}

/** What a node offers to the model: its tools, how calls are constrained, and the projection of its prompts. */
export interface ToolOffer extends Pick<DeclaredOffer, 'declared' | 'offered'> {
  readonly constraint: CallConstraint;
  /** The constraint once the node has results in a turn. */
  readonly laterConstraint: CallConstraint;
  readonly projection: Projection;
}

/** Reads the tools and the tool choice of a node. @throws InvalidParams */
export function declareOffer(params: OfferParams, context: NodeContext): DeclaredOffer {
  const declared = readTools(params, context);
  if (declared.size > recommendedMaxTools) {
    const place = `${context.nodeName}.params.tools`;
    context.warn(`${place} has ${declared.size} entries: small models get lost above ${recommendedMaxTools}`);
  }
  const offered = params.thought ? withThought(declared) : declared;
  const choice = resolveToolChoice(params, offered);
  const isBound = choice.choice !== undefined && choice.choice.kind !== 'auto';
  const laterChoice = isBound ? resolveToolChoice({ ...params, tool_choice: 'auto' }, offered) : choice;
  return { declared, offered, choice, laterChoice };
}

/** Compiles the grammars and the projection of an offer. @throws InvalidParams when the format has no grammar. */
export async function compileOffer(
  { declared, offered, choice, laterChoice }: DeclaredOffer,
  format: ToolCallFormat,
  model: Model,
): Promise<ToolOffer> {
  const compile = (resolved: ResolvedToolChoice): Promise<CallConstraint> =>
    runChunk(() => createCallConstraint(resolved, offered, format));
  const constraint = await compile(choice);
  const laterConstraint = laterChoice === choice ? constraint : await compile(laterChoice);
  const projection = toolProjection(model, toToolBlock([...offered.values()], format));
  return { declared, offered, constraint, laterConstraint, projection };
}

/** Whether two sets of parameters have the same offer. */
export const isSameOffer = (a: OfferParams, b: OfferParams): boolean => offerKey(a) === offerKey(b);

const offerKey = ({ tools, tool_choice, strict, thought }: OfferParams): string =>
  JSON.stringify([tools, tool_choice, strict, thought]);
