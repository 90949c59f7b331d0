import { isPlainObject } from '../../src/protocol/codec/wellFormed.ts';

/** An event that belongs to a command, by the name of the event. */
export interface CommandEvents {
  readonly connected: { readonly session: string };
  readonly agent: { readonly agent: string };
  readonly text: { readonly text: string };
  readonly call: { readonly call: string; readonly name: string; readonly arguments: object };
  readonly field: { readonly name: string; readonly value: string | number };
  readonly complete: { readonly text: string; readonly status: string; readonly reason?: string };
  readonly ok: object;
  readonly closed: object;
  readonly error: { readonly code: number; readonly message: string };
}

/** The name of an event that belongs to a command. */
export type CommandEventName = keyof CommandEvents;

/** An event of a client program that belongs to the command `id`. */
export type CommandEvent = {
  [Name in CommandEventName]: { readonly event: Name; readonly id: number } & CommandEvents[Name];
}[CommandEventName];

/** An event of a client program about its connection. */
export interface ConnectionEvent {
  readonly event: 'resumed' | 'restarted' | 'lost';
}

/** An event of a client program. */
export type ClientEvent = CommandEvent | ConnectionEvent;

type MemberType = 'string' | 'number' | 'scalar' | 'object' | 'string?';

const members: { readonly [Name in CommandEventName]: Readonly<Record<string, MemberType>> } = {
  connected: { session: 'string' },
  agent: { agent: 'string' },
  text: { text: 'string' },
  call: { call: 'string', name: 'string', arguments: 'object' },
  field: { name: 'string', value: 'scalar' },
  complete: { text: 'string', status: 'string', reason: 'string?' },
  ok: {},
  closed: {},
  error: { code: 'number', message: 'string' },
};

const connectionEvents: readonly string[] = ['resumed', 'restarted', 'lost'];

/** Reads a line of a client program: the event, or a sentence that says what is wrong with the line. */
export function readEvent(line: string): ClientEvent | string {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return 'the line is no JSON';
  }
  if (!isPlainObject(value)) return 'the line is no JSON object';
  const { event, id } = value as { readonly event?: unknown; readonly id?: unknown };
  if (typeof event !== 'string') return 'the event has no "event"';
  if (connectionEvents.includes(event)) return value as unknown as ConnectionEvent;
  if (!Object.hasOwn(members, event)) return `"${event}" is no event`;
  if (typeof id !== 'number' || !Number.isInteger(id)) return `the event "${event}" has no whole number as "id"`;
  for (const [name, type] of Object.entries(members[event as CommandEventName])) {
    const member = (value as Readonly<Record<string, unknown>>)[name];
    if (!hasType(member, type)) return `"${name}" of the event "${event}" is no ${type.replace('?', '')}`;
  }
  return value as unknown as CommandEvent;
}

function hasType(value: unknown, type: MemberType): boolean {
  if (type === 'object') return isPlainObject(value);
  if (type === 'scalar') return typeof value === 'string' || typeof value === 'number';
  if (type === 'string?') return value === undefined || value === null || typeof value === 'string';
  return typeof value === type;
}
