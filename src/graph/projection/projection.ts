import type { Message, Prompt, ToolBlock } from '../../chat/dialog.ts';
import type { Model } from '../../inference/contract/engine.ts';
import { type PromptInputs, TokenBudget } from './tokenBudget.ts';

/** A prompt, and how many of the oldest interactions it leaves out. */
export interface Projected {
  readonly prompt: Prompt;
  readonly dropped: number;
}

/** Turns the dialog into the prompt of one node; it remembers where it last truncated the dialog. */
export interface Projection {
  /** @throws Fault PROMPT_TOO_LARGE when the part that is never dropped does not fit. */
  project(inputs: PromptInputs): Promise<Projected>;
}

/** The projection of a node without tools: the dialog as chat messages. */
export function chatProjection(model: Model): Projection {
  const budget = new TokenBudget(model);
  return {
    async project(inputs) {
      const { messages, dropped } = await budget.messages(inputs);
      return { prompt: { messages }, dropped };
    },
  };
}

/**
 * The projection of a node with tools: the dialog as chat messages, without earlier calls, and the tools.
 * @param budget of the node's dialog; projections that share one count its tokens once.
 */
export function toolProjection(model: Model, tools: ToolBlock, budget = new TokenBudget(model)): Projection {
  let toolTokens: number | undefined;
  return {
    async project(inputs) {
      toolTokens ??= await model.countTools(tools);
      const { messages, dropped } = await budget.messages(inputs, toolTokens);
      return { prompt: { messages, tools }, dropped };
    },
  };
}

/** Where the template of a node is inserted, relative to the user's message, and with which role. */
export const placements = [
  'in_place_of_user',
  'before_user_as_system',
  'before_user_as_user',
  'after_user_as_system',
  'after_user_as_user',
] as const;

/** Position and role of a template. */
type Placement = (typeof placements)[number];

/** The last messages of a prompt: the user's message, and the text of a template at its placement. */
export function placeTemplate(
  message: string,
  template?: { readonly text: string; readonly placement: Placement },
): readonly Message[] {
  const user: Message = { role: 'user', text: message };
  if (!template || template.text === '') return [user];
  const { text } = template;
  switch (template.placement) {
    case 'in_place_of_user':
      return [{ role: 'user', text }];
    case 'before_user_as_system':
      return [{ role: 'system', text }, user];
    case 'before_user_as_user':
      return [{ role: 'user', text }, user];
    case 'after_user_as_system':
      return [user, { role: 'system', text }];
    case 'after_user_as_user':
      return [user, { role: 'user', text }];
    default:
      return template.placement satisfies never;
  }
}
