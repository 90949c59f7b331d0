import type { NodeEvent, ToolCallNotification } from '../frames.gen.ts';

/** A tool call that the model wishes; carrying it out is the game's decision. */
export interface ToolCall extends ToolCallNotification {
  /** `typedArgumentsJson`, parsed. */
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** Something that a node told beside its text. */
export interface TurnEvent {
  readonly nodeName: string;
  readonly eventType: string;
  readonly payload: unknown;
}

/** A notification with its arguments parsed. */
export function parseToolCall(notification: ToolCallNotification): ToolCall {
  const parsed = JSON.parse(notification.typedArgumentsJson || '{}') as Readonly<Record<string, unknown>>;
  return { ...notification, arguments: parsed };
}

/** Joins the parts in which events come. */
export class EventJoiner {
  #payloadJson = '';

  /** The event that a part completes, if it does. */
  add(part: NodeEvent): TurnEvent | undefined {
    this.#payloadJson = part.part > 1 ? this.#payloadJson + part.payloadJson : part.payloadJson;
    if (part.part < part.of) return undefined;
    const { nodeName, eventType } = part;
    return { nodeName, eventType, payload: JSON.parse(this.#payloadJson || 'null') as unknown };
  }
}
