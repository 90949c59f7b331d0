import type { Message } from '../../../dialog.ts';

/** A message as chat templates take it: as role and text, or as the calls and results that it holds. */
export function toTemplateMessage({ role, text, toolExchange: exchange }: Message): object {
  if (!exchange) return { role, content: text };
  switch (exchange.kind) {
    case 'calls':
      return {
        role: 'assistant',
        content: exchange.text,
        tool_calls: exchange.calls.map(({ id, ...call }) => ({ id, type: 'function', function: call })),
      };
    case 'result':
      return { role: 'tool', name: exchange.name, tool_call_id: exchange.callId, content: exchange.content };
    default:
      return exchange satisfies never;
  }
}
