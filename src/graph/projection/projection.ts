import type { Message, Prompt, ToolBlock } from '../../chat/dialog.ts';
import type { Model } from '../../inference/contract/engine.ts';
import { type DialogWindow, type PromptInputs, TokenBudget } from './tokenBudget.ts';

/** Turns the dialog into the prompt of one node; it remembers where it last truncated the dialog. */
export interface Projection {
  /** A prompt, and the part of the dialog that it has. @throws Fault PROMPT_TOO_LARGE for what is never dropped. */
  project(inputs: PromptInputs): Promise<DialogWindow & { readonly prompt: Prompt }>;
}

/** The projection of a node without tools: the dialog as chat messages. */
export const chatProjection = (model: Model): Projection => createProjection(model, new TokenBudget(model));

/** The dialog without earlier calls, and the tools. @param budget shared, so that its tokens are counted once. */
export const toolProjection = (model: Model, tools: ToolBlock, budget = new TokenBudget(model)): Projection =>
  createProjection(model, budget, tools);

function createProjection(model: Model, budget: TokenBudget, tools?: ToolBlock): Projection {
  let toolTokens: number | undefined;
  return {
    async project(inputs) {
      toolTokens ??= tools ? await model.countTools(tools) : 0;
      const { messages, ...window } = await budget.messages(inputs, toolTokens);
      return { prompt: { messages, ...(tools && { tools }) }, ...window };
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

/** The last messages of a prompt: the user's message, and the text of a template at its placement. */
export function placeTemplate(
  message: string,
  template?: { readonly text: string; readonly placement: (typeof placements)[number] },
): readonly Message[] {
  const user: Message = { role: 'user', text: message };
  if (!template || template.text === '') return [user];
  const { text, placement } = template;
  const placed: Message = { role: placement.endsWith('_as_system') ? 'system' : 'user', text };
  if (placement === 'in_place_of_user') return [placed];
  return placement.startsWith('before') ? [placed, user] : [user, placed];
}
