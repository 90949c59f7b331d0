import { exchangesAsText, insertTools, type Prompt, type ToolDefinition, type ToolExchange } from '../dialog.ts';
import { nativeFormatName } from '../dialect/nativeFormat.ts';
import type { ChatTemplate } from './chatTemplate.ts';
import { toTemplateMessages } from './templateMessages.ts';
import { thinkingVariables } from './thinkingVariable.ts';

export interface PromptInput extends Omit<Prompt, 'tools'> {
  readonly tools?: readonly ToolDefinition[];
}

/**
 * What a chat template gets of a prompt. A template that supports tools decides where they are and how they are written;
 * any other gets them as text, and so does one whose calls are in another format, or that refuses these tools. The same
 * holds for earlier calls and results.
 */
function toPromptInput(prompt: Prompt, template: ChatTemplate): PromptInput {
  const { messages, tools, thinking } = prompt;
  const { normalizeMessages, supportsTools } = template;
  const isOwn = !tools || isOwnFormat(tools.format, template);
  const definitions = tools?.definitions ?? [];
  const writesTools = supportsTools && isOwn && (definitions.length === 0 || template.acceptsTools(definitions));
  const placed = writesTools ? messages : insertTools(prompt);
  return {
    ...(thinking !== undefined && { thinking }),
    messages: normalizeMessages(exchangesAsText(placed, isOwn ? unwrittenKinds(template) : undefined)),
    ...(writesTools && definitions.length > 0 && { tools: definitions }),
  };
}

/** What a chat template leaves out of the history: it gets that as text. */
function unwrittenKinds({
  toolDialect: { convention, layout, writesResults },
}: ChatTemplate): readonly ToolExchange['kind'][] {
  if (!convention && !layout) return ['calls', 'result'];
  return writesResults ? [] : ['result'];
}

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

/** Renders a prompt; calls and results that the template refuses are text. @param render throws what it throws. */
export function renderOrWriteOut<T>(prompt: Prompt, template: ChatTemplate, render: (input: PromptInput) => T): T {
  const input = toPromptInput(prompt, template);
  try {
    return render(input);
  } catch (error) {
    if (!input.messages.some(({ toolExchange }) => toolExchange)) throw error;
    return render(toPromptInput({ ...prompt, messages: exchangesAsText(prompt.messages) }, template));
  }
}

/** A prompt as a chat template writes it. @throws as renderInput */
export const renderPrompt = (prompt: Prompt, template: ChatTemplate): string =>
  renderOrWriteOut(prompt, template, (input) => renderInput(input, template));
