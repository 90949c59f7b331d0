import type { Prompt, ToolBlock } from '../../chat/dialog.ts';
import type { Model } from '../../inference/contract/engine.ts';
import { TokenBudget, type PromptInputs } from './tokenBudget.ts';

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
