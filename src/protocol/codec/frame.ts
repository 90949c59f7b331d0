import type { ClientFrame, ClientFrameBodies, ServerFrame, ServerFrameBodies } from '../frames.gen.ts';
import { bodiesOf, defaultOf, fieldsOf, type Fields } from './messageShape.ts';

/** The frames of both directions, by envelope: the outer message of the proto. */
export interface Frames {
  readonly ClientFrame: ClientFrame;
  readonly ServerFrame: ServerFrame;
}

/** The envelope of one direction. */
export type Envelope = keyof Frames;

/** The body of a frame. */
export function messageOf(frame: ClientFrame | ServerFrame): Fields {
  // TypeScript cannot correlate the body name with the field of that name.
  return (frame as unknown as Readonly<Record<string, Fields>>)[frame.body] ?? {};
}

/** Creates a client frame; missing fields take their defaults. */
export function clientFrame<Body extends keyof ClientFrameBodies>(
  requestId: number,
  body: Body,
  fields: Partial<ClientFrameBodies[Body]> = {},
): ClientFrame {
  return { requestId, body, [body]: { ...defaults.ClientFrame.get(body), ...fields } } as unknown as ClientFrame;
}

/** Creates a server frame; missing fields take their defaults. */
export function serverFrame<Body extends keyof ServerFrameBodies>(
  requestId: number,
  seq: number,
  body: Body,
  fields: Partial<ServerFrameBodies[Body]> = {},
): ServerFrame {
  return { requestId, seq, body, [body]: { ...defaults.ServerFrame.get(body), ...fields } } as unknown as ServerFrame;
}

const defaults = { ClientFrame: defaultBodies('ClientFrame'), ServerFrame: defaultBodies('ServerFrame') };

function defaultBodies(envelope: Envelope): ReadonlyMap<string, Fields> {
  const bodies = new Map<string, Fields>();
  for (const [body, message] of bodiesOf(envelope)) {
    const fields = fieldsOf(message).filter(([, shape]) => shape.oneof === undefined);
    bodies.set(body, Object.fromEntries(fields.map(([name, shape]) => [name, defaultOf(shape)])));
  }
  return bodies;
}
