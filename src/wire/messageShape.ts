import { shapes, type FieldShape } from '../frames.gen.ts';

/** The name of a message of the proto. */
export type MessageName = keyof typeof shapes;

/** A message's fields by name, whatever the message. */
export type Fields = Readonly<Record<string, unknown>>;

/** The fields of a message with what they hold, in the proto's order. */
export function fieldsOf(name: MessageName): readonly (readonly [name: string, shape: FieldShape])[] {
  return fields[name];
}

/** What a field holds when nobody gave it: null for a message; undefined for a member of a oneof, which is then left out. */
export function defaultOf(shape: FieldShape): unknown {
  if (shape.oneof !== undefined) return undefined;
  if (shape.repeated) return noList;
  if ('map' in shape) return noMap;
  if ('message' in shape) return null;
  return 'enum' in shape ? shape.enum[0] : zeros[shape.scalar];
}

/** The message that an envelope's body field holds, by the name of that field. */
export function bodiesOf(envelope: 'ClientFrame' | 'ServerFrame'): ReadonlyMap<string, MessageName> {
  return bodies[envelope];
}

/** A table with an entry for every message. */
export function byMessage<Entry>(entryOf: (name: MessageName) => Entry): Readonly<Record<MessageName, Entry>> {
  const names = Object.keys(shapes) as MessageName[];
  return Object.fromEntries(names.map((name) => [name, entryOf(name)])) as Record<MessageName, Entry>;
}

const zeros = { string: '', bool: false, uint32: 0, double: 0 } as const;
const noList: readonly never[] = Object.freeze([]);
const noMap: Readonly<Record<string, string>> = Object.freeze(Object.create(null));

const fields = byMessage((name) => Object.entries<FieldShape>(shapes[name]));

const bodies = { ClientFrame: bodiesIn('ClientFrame'), ServerFrame: bodiesIn('ServerFrame') };

function bodiesIn(envelope: MessageName): Map<string, MessageName> {
  const found = new Map<string, MessageName>();
  for (const [name, shape] of fields[envelope]) if (shape.oneof && 'message' in shape) found.set(name, shape.message);
  return found;
}
