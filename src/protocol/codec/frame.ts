import {
  type ClientFrame,
  type ClientFrameBodies,
  type FieldShape,
  type ServerFrame,
  type ServerFrameBodies,
  shapes,
} from '../frames.gen.ts';

/** The frames of both directions, by envelope: the outer message of the proto. */
export interface Frames {
  readonly ClientFrame: ClientFrame;
  readonly ServerFrame: ServerFrame;
}

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

export type MessageName = keyof typeof shapes;

/** The field values of any message, by field name. */
export type Fields = Readonly<Record<string, unknown>>;

/** The fields of a message with their shapes, in the order of the proto. */
export function fieldsOf(name: MessageName): readonly (readonly [name: string, shape: FieldShape])[] {
  return fields[name];
}

/** The proto3 default of a field; null for a message, undefined for a member of a oneof, which is then omitted. */
export function defaultOf(shape: FieldShape): unknown {
  if (shape.oneof !== undefined) return undefined;
  if (shape.repeated) return emptyList;
  if ('map' in shape) return emptyMap;
  if ('message' in shape) return null;
  return 'enum' in shape ? shape.enum[0] : zeros[shape.scalar];
}

/** The messages that an envelope can hold, by body name. */
export function bodiesOf(envelope: Envelope): ReadonlyMap<string, MessageName> {
  return bodies[envelope];
}

/** Creates a table with one entry per message of the proto. */
export function byMessage<Entry>(createEntry: (name: MessageName) => Entry): Readonly<Record<MessageName, Entry>> {
  const names = Object.keys(shapes) as MessageName[];
  return Object.fromEntries(names.map((name) => [name, createEntry(name)])) as Record<MessageName, Entry>;
}

const zeros = { string: '', bool: false, uint32: 0, double: 0 } as const;
const emptyList: readonly never[] = Object.freeze([]);
const emptyMap: Readonly<Record<string, string>> = Object.freeze(Object.create(null));

const fields = byMessage((name) => Object.entries<FieldShape>(shapes[name]));

const byEnvelope = <Entry>(createEntry: (envelope: Envelope) => Entry): Readonly<Record<Envelope, Entry>> => ({
  ClientFrame: createEntry('ClientFrame'),
  ServerFrame: createEntry('ServerFrame'),
});

const bodies = byEnvelope((envelope) => {
  const members = fields[envelope].filter(([, shape]) => shape.oneof !== undefined);
  return new Map(members.flatMap(([name, shape]) => ('message' in shape ? [[name, shape.message] as const] : [])));
});

const defaults = byEnvelope(
  (envelope) => new Map([...bodiesOf(envelope)].map(([body, name]) => [body, defaultsOf(name)])),
);

function defaultsOf(name: MessageName): Fields {
  const present = fieldsOf(name).filter(([, shape]) => shape.oneof === undefined);
  return Object.fromEntries(present.map(([field, shape]) => [field, defaultOf(shape)]));
}

/** How fields of a shape are changed before a message is encoded; undefined: they are not. */
export type FieldChange = (shape: FieldShape) => ((value: unknown) => unknown) | undefined;

type Rewrite = (message: Fields) => Fields;

/**
 * Builds the rewriters of both envelopes, by body name. Bodies without a matching field are not in the map: they are
 * encoded without a copy, which keeps streamed text cheap.
 */
export const rewriters = (change: FieldChange): Readonly<Record<Envelope, ReadonlyMap<string, Rewrite>>> =>
  byEnvelope((envelope) => {
    const found = [...bodiesOf(envelope)].flatMap(([body, message]) => {
      const rewrite = rewriter(message, change);
      return rewrite ? [[body, rewrite] as const] : [];
    });
    return new Map(found);
  });

function rewriter(name: MessageName, change: FieldChange): Rewrite | undefined {
  const fields = fieldsOf(name).flatMap(([key, shape]) => {
    const rewriteItem = itemRewriter(shape, change);
    if (!rewriteItem) return [];
    const rewriteList = (list: unknown): unknown => (list as readonly unknown[]).map(rewriteItem);
    return [{ key, rewriteField: shape.repeated ? rewriteList : rewriteItem }];
  });
  if (fields.length === 0) return undefined;
  return (message) => {
    const copy: Record<string, unknown> = { ...message };
    for (const { key, rewriteField } of fields) if (copy[key] !== undefined) copy[key] = rewriteField(copy[key]);
    return copy;
  };
}

function itemRewriter(shape: FieldShape, change: FieldChange): ReturnType<FieldChange> {
  const rewriteMessage = 'message' in shape ? rewriter(shape.message, change) : undefined;
  const changeValue = change(shape);
  if (!rewriteMessage) return changeValue;
  return (value) => {
    const rewritten = value === null ? value : rewriteMessage(value as Fields);
    return changeValue ? changeValue(rewritten) : rewritten;
  };
}
