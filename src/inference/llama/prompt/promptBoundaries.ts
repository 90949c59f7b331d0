import type { Token } from 'node-llama-cpp';
import { commonPrefixLength } from '../../../base/commonPrefix.ts';
import type { Message, Prompt } from '../../../chat/dialog.ts';
import { Fault } from '../../../protocol/fault.ts';
import type { PromptRenderer } from './promptRenderer.ts';
import type { RenderedPrompt } from '../../decoding/templateRenderer.ts';

/** Where later prompts of the same node will differ from a prompt, in tokens from its start; 0 = not known. */
export interface PromptBoundaries {
  /** The end of the system message and the tools: the whole dialog may change, for example when it is truncated. */
  readonly head: number;
  /** The end of the last finished interaction: the message after it may not stay, or be rendered in another way. */
  readonly interaction: number;
  /** The end of the message: the reply may be another one than the generated text. */
  readonly message: number;
}

/** What the boundaries of a prompt are found with. */
export interface BoundaryOptions {
  readonly renderer: PromptRenderer;
  /** The tokens of `prompt`. */
  readonly tokens: readonly Token[];
  /** The tokens of a prompt like it. */
  readonly tokenize: (rendered: RenderedPrompt) => Promise<readonly Token[]>;
}

/** Finds the boundaries of a prompt: compares it with prompts that differ there, whatever its chat template does with them. */
export async function findBoundaries(prompt: Prompt, options: BoundaryOptions): Promise<PromptBoundaries> {
  const { messages } = prompt;
  const headEnd = messages.findIndex(({ role }) => role !== 'system');
  const interactionEnd = messages.findLastIndex(({ role, toolExchange }) => role === 'assistant' && !toolExchange) + 1;
  // Calls and results of a turn are in the prompts of this turn only.
  const exchangeStart = messages.findIndex(({ toolExchange }, index) => index >= interactionEnd && toolExchange);
  const messageEnd = exchangeStart < 0 ? messages.length : exchangeStart;
  const sharedWith = async (others: readonly Message[]): Promise<number> => {
    try {
      const rendered = options.renderer.render({ ...prompt, messages: others });
      return commonPrefixLength(options.tokens, await options.tokenize(rendered));
    } catch (error) {
      // The chat template refuses other messages than those of the prompt.
      if (error instanceof Fault) return 0;
      throw error;
    }
  };
  const cutAt = (end: number): readonly Message[] => [...messages.slice(0, end), otherMessage(messages[end])];
  return {
    head: headEnd < 0 ? 0 : await sharedWith(cutAt(headEnd)),
    interaction: await sharedWith(cutAt(Math.max(interactionEnd, headEnd))),
    message: await sharedWith([...messages.slice(0, messageEnd), reply, next]),
  };
}

const reply: Message = { role: 'assistant', text: 'A' };
const next: Message = { role: 'user', text: 'A' };

/** A message of the user that begins with another character. */
const otherMessage = (message: Message | undefined): Message => ({
  role: 'user',
  text: message?.text.trimStart().startsWith('A') ? 'B' : 'A',
});
