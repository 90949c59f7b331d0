import type { Message } from '../../chat/dialog.ts';
import type { PathStep } from '../../protocol/frames.gen.ts';
import type { ConversationPart } from './messages.ts';

/** How a request becomes a turn of an agent. */
export interface TurnPlan {
  /** A graph document. */
  readonly graph: unknown;
  readonly message: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly earlier: readonly PlannedInteraction[];
  /** What follows the message: calls with their results. */
  readonly parts: readonly ConversationPart[];
  /** The node and its exit that the turn goes on after; undefined: it begins with the start node. */
  readonly after?: PathStep;
  /** The model whose layout calls and results have, and the format that the node names; "" = what the model proves. */
  readonly layout: { readonly model: string; readonly format: string };
  /** How many calls the response may have. */
  readonly maxCalls: number;
  /** Field of the request that a place of the graph comes from: the longest that fits; JSON pointer of the graph by field. */
  readonly fields: Readonly<Record<string, string>>;
}

/** An interaction of the dialog whose prompt may need the layout of a model. */
export interface PlannedInteraction {
  readonly user: string;
  readonly assistant: string;
  /** What prompts show; undefined: user and assistant. */
  readonly parts: readonly ConversationPart[] | undefined;
}

/** A message as a part of a conversation. */
export const textPart = (role: Message['role'], text: string): ConversationPart => ({
  kind: 'text',
  message: { role, text },
});

/** The texts of the assistant among parts, one after the other. */
export const assistantText = (parts: readonly ConversationPart[]): string =>
  parts
    .map((part) => (part.kind === 'calls' ? part.text : part.message.role === 'assistant' ? part.message.text : ''))
    .filter((text) => text !== '')
    .join('\n');
