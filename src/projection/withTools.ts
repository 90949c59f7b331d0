import type { ToolBlock } from '../dialog.ts';
import type { Model } from '../engine/engine.ts';
import { MessageBudget, type Projection } from './projection.ts';

/** The projection of a node that looks for calls: plain chat with the tools, and without any earlier call. */
export function toolProjection(model: Model, tools: ToolBlock): Projection {
  const fitting = new MessageBudget(model);
  let size: number | undefined;
  return {
    async project(contribution) {
      size ??= await model.countTools(tools);
      const { messages, dropped } = await fitting.messages(contribution, size);
      return { prompt: { messages, tools }, dropped };
    },
  };
}
