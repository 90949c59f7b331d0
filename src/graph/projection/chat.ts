import type { Model } from '../../inference/contract/engine.ts';
import { MessageBudget, type Projection } from './projection.ts';

/** The projection of a node without tools: the dialog as chat messages. */
export function chatProjection(model: Model): Projection {
  const budget = new MessageBudget(model);
  return {
    async project(inputs) {
      const { messages, dropped } = await budget.messages(inputs);
      return { prompt: { messages }, dropped };
    },
  };
}
