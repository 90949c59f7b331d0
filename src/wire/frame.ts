import type { ClientFrame, ClientFrameBodies, ServerFrame, ServerFrameBodies } from '../frames.gen.ts';
import { bodiesOf, defaultOf, fieldsOf, type Fields } from './messageShape.ts';

/** The frames of both directions, by the name of their envelope. */
export interface Frames {
  readonly ClientFrame: ClientFrame;
  readonly ServerFrame: ServerFrame;
}

/** The name of one direction's envelope. */
export type Envelope = keyof Frames;

/** The message in a frame, whichever it is. */
export function messageOf(frame: ClientFrame | ServerFrame): Fields {
  // The compiler does not follow from the name of the body to the field of that name.
  return (frame as unknown as Readonly<Record<string, Fields>>)[frame.body] ?? {};
}

/** A frame of a client; fields that are not given take their defaults. */
export function clientFrame<Body extends keyof ClientFrameBodies>(
  requestId: number,
  body: Body,
  fields: Partial<ClientFrameBodies[Body]> = {},
): ClientFrame {
  return { requestId, body, [body]: { ...blanks.ClientFrame.get(body), ...fields } } as unknown as ClientFrame;
}

/** A frame of the server; fields that are not given take their defaults. */
export function serverFrame<Body extends keyof ServerFrameBodies>(
  requestId: number,
  seq: number,
  body: Body,
  fields: Partial<ServerFrameBodies[Body]> = {},
): ServerFrame {
  return { requestId, seq, body, [body]: { ...blanks.ServerFrame.get(body), ...fields } } as unknown as ServerFrame;
}

const blanks = { ClientFrame: blanksOf('ClientFrame'), ServerFrame: blanksOf('ServerFrame') };

function blanksOf(envelope: Envelope): ReadonlyMap<string, Fields> {
  const blank = new Map<string, Fields>();
  for (const [body, message] of bodiesOf(envelope)) {
    const given = fieldsOf(message).filter(([, shape]) => shape.oneof === undefined);
    blank.set(body, Object.fromEntries(given.map(([name, shape]) => [name, defaultOf(shape)])));
  }
  return blank;
}
