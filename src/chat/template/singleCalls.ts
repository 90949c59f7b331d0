import type { TemplateMessage } from './templateInput.ts';

/**
 * Messages with one call in each, followed by its result, for a template that writes only one call of a message.
 * @param content of a message that has only a call.
 */
export function oneCallPerMessage(
  messages: readonly TemplateMessage[],
  content: TemplateMessage['content'],
): readonly TemplateMessage[] {
  const split: TemplateMessage[] = [];
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index];
    const { tool_calls: calls = [] } = message ?? {};
    if (!message || calls.length < 2) {
      if (message) split.push(message);
      continue;
    }
    const end = messages.findIndex(({ role }, other) => other > index && role !== 'tool');
    const results = messages.slice(index + 1, end < 0 ? undefined : end);
    calls.forEach((call, position) => {
      split.push({ ...message, ...(position > 0 && { content }), tool_calls: [call] });
      const result = results.findIndex(({ tool_call_id: id }) => id === call.id);
      if (result >= 0) split.push(...results.splice(result, 1));
    });
    split.push(...results);
    index = (end < 0 ? messages.length : end) - 1;
  }
  return split;
}
