import { insertTools, type Message, type Prompt, type ToolBlock, type ToolDefinition } from '../dialog.ts';
import { nativeFormatName } from '../tools/native/nativeFormat.ts';
import type { ChatTemplate } from './chatTemplate.ts';
import { toTemplateMessages } from './templateMessages.ts';
import { thinkingVariables } from './thinkingVariable.ts';

/** What a chat template gets of a prompt. */
export interface PromptInput {
  readonly messages: readonly Message[];
  readonly tools?: readonly ToolDefinition[];
  readonly thinking?: boolean;
}

/**
 * What a chat template gets of a prompt. A template that supports tools decides where they are and how they are written;
 * any other gets them as text, and so does one whose calls are in another format, or that refuses these tools.
 */
export function toPromptInput(prompt: Prompt, template: ChatTemplate): PromptInput {
  const { messages, tools, thinking } = prompt;
  const thinkingInput = thinking === undefined ? {} : { thinking };
  const { normalizeMessages, supportsTools } = template;
  const writesTools = (block: ToolBlock): boolean =>
    isOwnFormat(block.format, template) && (block.definitions.length === 0 || template.acceptsTools(block.definitions));
  if (!supportsTools || (tools && !writesTools(tools))) {
    const textMessages = insertTools(prompt).map(({ role, text }) => ({ role, text }));
    return { ...thinkingInput, messages: normalizeMessages(textMessages) };
  }
  const definitions = tools?.definitions ?? [];
  return {
    ...thinkingInput,
    messages: normalizeMessages(messages),
    ...(definitions.length > 0 && { tools: definitions }),
  };
}

/** Whether a chat template writes the calls of a format. */
function isOwnFormat(name: string, { toolDialect: { format, layout } }: ChatTemplate): boolean {
  return name === format || (name === nativeFormatName && layout !== undefined);
}

/** Renders what a chat template gets. @throws Error with the template's own message when it refuses the messages. */
export const renderInput = ({ messages, tools, thinking }: PromptInput, template: ChatTemplate): string =>
  template.render({
    messages: toTemplateMessages(messages, template.toolDialect),
    ...(tools && { tools }),
    variables: thinkingVariables(template.thinkingVariable, thinking),
  });

/** A prompt as a chat template writes it. @throws as renderInput */
export const renderPrompt = (prompt: Prompt, template: ChatTemplate): string =>
  renderInput(toPromptInput(prompt, template), template);
