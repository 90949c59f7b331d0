import type { Message } from '../../../dialog.ts';

type MapString = (text: string) => string;

// Templates compare with these; whoever declares a tool has no other way to write them, and they spell nothing.
const unmappedKeys: ReadonlySet<string> = new Set(
  'array boolean description enum function integer items name null number object parameters properties required string type'.split(
    ' ',
  ),
);

/** Plain data with each text in it changed, names of members included; what is JSON Schema's own stays. */
export function mapStrings<T>(value: T, reword: MapString): T;
export function mapStrings(value: unknown, reword: MapString): unknown {
  if (typeof value === 'string') return unmappedKeys.has(value) ? value : reword(value);
  if (Array.isArray(value)) return value.map((entry) => mapStrings<unknown>(entry, reword));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [mapStrings(key, reword), mapStrings<unknown>(member, reword)]),
  );
}

/** A message with each text in it changed. */
export function mapMessageStrings({ role, text, toolExchange: exchange }: Message, reword: MapString): Message {
  const message = { role, text: reword(text) };
  if (!exchange) return message;
  if (exchange.kind === 'result') {
    const { kind, callId, name, content } = exchange;
    return { ...message, toolExchange: { kind, callId: reword(callId), name: reword(name), content: reword(content) } };
  }
  const calls = exchange.calls.map((call) => ({
    id: reword(call.id),
    name: reword(call.name),
    arguments: mapStrings(call.arguments, reword),
  }));
  return { ...message, toolExchange: { kind: exchange.kind, text: reword(exchange.text), calls } };
}
