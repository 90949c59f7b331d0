import type { Message } from '../../chat/dialog.ts';

type MapString = (text: string) => string;

// JSON Schema's own words: chat templates compare strings with them, so a mask would change the output. They are whole
// fixed words and contain no control string.
const unmappedKeys: ReadonlySet<string> = new Set(
  'array boolean description enum function integer items name null number object parameters properties required string type'.split(
    ' ',
  ),
);

/** Plain data with each string in it mapped, keys included; JSON Schema's own words stay. */
export function mapStrings<T>(value: T, mapString: MapString): T;
export function mapStrings(value: unknown, mapString: MapString): unknown {
  if (typeof value === 'string') return unmappedKeys.has(value) ? value : mapString(value);
  if (Array.isArray(value)) return value.map((entry) => mapStrings<unknown>(entry, mapString));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [mapStrings(key, mapString), mapStrings<unknown>(member, mapString)]),
  );
}

/** A message with each string in it mapped. */
export function mapMessageStrings({ role, text, toolExchange }: Message, mapString: MapString): Message {
  const message = { role, text: mapString(text) };
  if (!toolExchange) return message;
  if (toolExchange.kind === 'result') {
    const { kind, callId, name, content } = toolExchange;
    return {
      ...message,
      toolExchange: { kind, callId: mapString(callId), name: mapString(name), content: mapString(content) },
    };
  }
  const calls = toolExchange.calls.map((call) => ({
    id: mapString(call.id),
    name: mapString(call.name),
    arguments: mapStrings(call.arguments, mapString),
  }));
  return { ...message, toolExchange: { kind: toolExchange.kind, text: mapString(toolExchange.text), calls } };
}
