import { shapes, type FieldShape } from '../frames.gen.ts';

/** The name of a message of the proto. */
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
export function bodiesOf(envelope: 'ClientFrame' | 'ServerFrame'): ReadonlyMap<string, MessageName> {
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

const bodies = { ClientFrame: bodiesIn('ClientFrame'), ServerFrame: bodiesIn('ServerFrame') };

function bodiesIn(envelope: MessageName): Map<string, MessageName> {
  const messageByBody = new Map<string, MessageName>();
  for (const [name, shape] of fields[envelope])
    if (shape.oneof && 'message' in shape) messageByBody.set(name, shape.message);
  return messageByBody;
}
