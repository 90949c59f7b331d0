import type { Model } from '../engine/engine.ts';
import { MessageBudget, type Projection } from './projection.ts';

/** The projection of a node that converses: the dialog as plain chat. */
export function chatProjection(model: Model): Projection {
  const fitting = new MessageBudget(model);
  return {
    async project(contribution) {
      const { messages, dropped } = await fitting.messages(contribution);
      return { prompt: { messages }, dropped };
    },
  };
}
