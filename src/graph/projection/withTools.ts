import type { ToolBlock } from '../../chat/dialog.ts';
import type { Model } from '../../inference/contract/engine.ts';
import { MessageBudget, type Projection } from './projection.ts';

/**
 * The projection of a node with tools: the dialog as chat messages, without earlier calls, and the tools.
 * @param budget of the node's dialog; projections that share one count its tokens once.
 */
export function toolProjection(model: Model, tools: ToolBlock, budget = new MessageBudget(model)): Projection {
  let toolTokens: number | undefined;
  return {
    async project(inputs) {
      toolTokens ??= await model.countTools(tools);
      const { messages, dropped } = await budget.messages(inputs, toolTokens);
      return { prompt: { messages, tools }, dropped };
    },
  };
}
