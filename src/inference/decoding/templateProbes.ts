import { createYielder } from '../../base/eventLoop.ts';
import type { Message, ToolBlock } from '../../chat/dialog.ts';
import type { Model } from '../contract/engine.ts';
import type { PromptTokenizer, TemplateRenderer } from './templateRenderer.ts';

const rule: Message = { role: 'system', text: 'Choose.' };
const ask: Message = { role: 'user', text: 'Which?' };
const answer: Message = { role: 'assistant', text: 'This.' };

/** The dialogs of which `overheadOf` is to be given the tokens that the chat template adds to their texts. */
export const overheadDialogs: readonly (readonly Message[])[] = [[ask], [ask, answer, ask]];

/** The tokens that the chat template adds to a prompt, and to each message. */
export function overheadOf([single = 0, whole = 0]: readonly number[]): Model['overhead'] {
  const message = Math.max(0, Math.ceil((whole - single) / 2));
  return { message, prompt: Math.max(0, single - message) };
}

/**
 * The number of tokens that tools add to a prompt; any number above `atMost` where it is more. The larger of two: without a
 * system message the template may have to add one for the tools.
 */
export async function countTools(prompts: PromptTokenizer, tools: ToolBlock, atMost: number): Promise<number> {
  const yieldToOthers = createYielder();
  let largest = 0;
  for (const messages of [[ask], [rule, ask]]) {
    const { length } = await prompts.tokensYielding(prompts.render({ messages }));
    const rendered = prompts.render({ messages, tools });
    await yieldToOthers();
    const tokens = await prompts.tokensYielding(rendered, 0, atMost + length);
    largest = Math.max(largest, tokens.length - length);
    if (largest > atMost) break;
  }
  return largest;
}

/** The first control string that the chat template writes after a reply; undefined: none. */
export function replyEnd(renderer: Pick<TemplateRenderer, 'render'>): string | undefined {
  const { text, controlSpans } = renderer.render({ messages: [ask, answer, ask] });
  const end = text.indexOf(answer.text) + answer.text.length;
  const span = controlSpans.find(({ start }) => start >= end);
  return span && text.slice(span.start, span.end);
}

/**
 * White space that the chat template writes between the end of a prompt and the reply to it. A model has learned to begin its
 * reply with it: `[/INST] This.`
 */
export function replyLead(renderer: Pick<TemplateRenderer, 'render'>): string {
  const prompt = renderer.render({ messages: [ask] }).text;
  const replied = renderer.render({ messages: [ask, answer, ask] }).text;
  const rest = replied.startsWith(prompt) ? replied.slice(prompt.length) : '';
  const lead = rest.slice(0, rest.length - rest.trimStart().length);
  return rest.startsWith(lead + answer.text) ? lead : '';
}
