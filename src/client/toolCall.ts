import type { NodeEvent, ToolCallNotification } from '../protocol/frames.gen.ts';
import { readJson } from './responses.ts';

/** A tool call that the server detected in the model's text. The server never executes it: that is up to the client. */
export interface ToolCall extends ToolCallNotification {
  /** `typedArgumentsJson`, parsed. */
  readonly arguments: Readonly<Record<string, unknown>>;
}

/** An event of a node, in addition to its text and calls. */
export interface TurnEvent {
  readonly nodeName: string;
  /** The type of the event; PROTOCOL.md lists them. */
  readonly eventType: string;
  /** Parsed JSON. */
  readonly payload: unknown;
  /** The mode of the agent when it was sent. */
  readonly mode: NodeEvent['mode'];
}

/** Parses the arguments of a tool call notification. */
export function parseToolCall(notification: ToolCallNotification): ToolCall {
  const parsed = readJson(notification.typedArgumentsJson || '{}', 'typedArgumentsJson');
  return { ...notification, arguments: parsed as Readonly<Record<string, unknown>> };
}

/** Joins the parts of events that were split over several frames. */
export class EventJoiner {
  #payloadJson = '';

  /** Adds a part; returns the event when this was its last part. */
  add(part: NodeEvent): TurnEvent | undefined {
    this.#payloadJson = part.part > 1 ? this.#payloadJson + part.payloadJson : part.payloadJson;
    if (part.part < part.of) return undefined;
    const { nodeName, eventType, mode } = part;
    return { nodeName, eventType, mode, payload: readJson(this.#payloadJson || 'null', 'payloadJson') };
  }
}
