import type {
  NodeEvent,
  ToolCallNotification,
  ClientFrameBodies,
  CodeName,
  ServerFrame,
  ServerFrameBodies,
} from '../protocol/frames.gen.ts';
import { codes, responses } from '../protocol/frames.gen.ts';
import { messageOf } from '../protocol/codec/frame.ts';
import { describeError, Fault, malformed } from '../protocol/fault.ts';

/** The name of a request: its field in the `ClientFrame` of the proto. */
export type RequestName = keyof ClientFrameBodies;

/** The final response to a request. */
export type ResponseTo<Name extends RequestName> = ServerFrameBodies[(typeof responses)[Name]['final']];

/** The final response in a frame; undefined for the frames before it, such as progress and streamed text. */
export function finalResponse<Name extends RequestName>(asked: Name, frame: ServerFrame): ResponseTo<Name> | undefined {
  if (frame.body !== responses[asked].final) return undefined;
  const response: { readonly part?: number; readonly of?: number } = messageOf(frame);
  const { part = 0, of = 0 } = response;
  return part < of ? undefined : (response as ResponseTo<Name>);
}

/** JSON text in a field of the server. @throws Fault MALFORMED_MESSAGE with the place */
export function readJson(text: string, place: string): unknown {
  try {
    return JSON.parse(text);
  } catch (thrown) {
    throw malformed(`the server sent ${place} that is no JSON: ${describeError(thrown)}`);
  }
}

/**
 * An error of the server as a Fault. A code that this client does not know becomes INTERNAL, with its name before the message.
 */
export function toFault(error: { readonly name: string; readonly message: string; readonly detail?: string }): Fault {
  const { name, message, detail = '' } = error;
  if (Object.hasOwn(codes, name)) return new Fault(name as CodeName, message, { detail });
  return new Fault('INTERNAL', `${name}: ${message}`, { detail });
}

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
