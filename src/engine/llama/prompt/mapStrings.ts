import type { Message } from '../../../dialog.ts';

type Reword = (text: string) => string;

// Templates compare with these; whoever declares a tool has no other way to write them, and they spell nothing.
const words: ReadonlySet<string> = new Set(
  'array boolean description enum function integer items name null number object parameters properties required string type'.split(
    ' ',
  ),
);

/** Plain data with each text in it changed, names of members included; what is JSON Schema's own stays. */
export function rewordedData<T>(value: T, reword: Reword): T;
export function rewordedData(value: unknown, reword: Reword): unknown {
  if (typeof value === 'string') return words.has(value) ? value : reword(value);
  if (Array.isArray(value)) return value.map((entry) => rewordedData<unknown>(entry, reword));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [rewordedData(key, reword), rewordedData<unknown>(member, reword)]),
  );
}

/** A message with each text in it changed. */
export function rewordedMessage({ role, text, exchange }: Message, reword: Reword): Message {
  const message = { role, text: reword(text) };
  if (!exchange) return message;
  if (exchange.kind === 'result') {
    const { kind, callId, name, content } = exchange;
    return { ...message, exchange: { kind, callId: reword(callId), name: reword(name), content: reword(content) } };
  }
  const calls = exchange.calls.map((call) => ({
    id: reword(call.id),
    name: reword(call.name),
    arguments: rewordedData(call.arguments, reword),
  }));
  return { ...message, exchange: { kind: exchange.kind, text: reword(exchange.text), calls } };
}
