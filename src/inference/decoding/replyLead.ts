import type { Message } from '../../chat/dialog.ts';
import type { TemplateRenderer } from './templateRenderer.ts';

const ask: Message = { role: 'user', text: 'Which?' };
const reply: Message = { role: 'assistant', text: 'This.' };

/**
 * White space that the chat template writes between the end of a prompt and the reply to it. A model has learned to begin its
 * reply with it: `[/INST] This.`
 */
export function replyLead(renderer: Pick<TemplateRenderer, 'render'>): string {
  const prompt = renderer.render({ messages: [ask] }).text;
  const replied = renderer.render({ messages: [ask, reply, ask] }).text;
  const rest = replied.startsWith(prompt) ? replied.slice(prompt.length) : '';
  const lead = rest.slice(0, rest.length - rest.trimStart().length);
  return rest.startsWith(lead + reply.text) ? lead : '';
}
