import { readJsonLines } from '../../scripts/evals/readJson.mjs';
import type { Message, Prompt, ToolBlock } from '../../src/chat/dialog.ts';
import { unwrapParam } from '../../src/graph/compile/node.ts';
import { toFunctionDefinition } from '../../src/chat/formats/toolText.ts';
import { formats } from '../../src/chat/formats/index.ts';
import { readTool } from '../../src/chat/tools/declaration/readTool.ts';

interface OfficialMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string;
  readonly name?: string;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly function: { readonly name: string; readonly arguments: object };
  }[];
}

/** A tool in the format of the official chat templates. */
export interface OfficialTool {
  readonly function: {
    readonly name: string;
    readonly description: string;
    readonly parameters: Readonly<Record<string, unknown>>;
  };
}

/** A conversation and the text that the official chat template of a family renders for it. */
export interface OfficialPrompt {
  readonly family: string;
  readonly format: string;
  readonly case: string;
  readonly messages: readonly OfficialMessage[];
  readonly tools: readonly OfficialTool[];
  readonly text: string;
}

/** All official prompts. */
export const officialPrompts: readonly OfficialPrompt[] = await readJsonLines(
  new URL('../fixtures/cases/prompts.jsonl', import.meta.url),
);

/** Creates the tools of a prompt like a node does. */
export function toToolBlock(format: string, definitions: readonly OfficialTool[]): ToolBlock {
  const toolFormat = formats.get(format);
  if (!toolFormat) throw new Error(`there is no format ${format}`);
  const tools = definitions.map((definition) =>
    unwrapParam('', readTool({ consequential: false, ...definition.function })),
  );
  return {
    format,
    definitions: tools.map(toFunctionDefinition),
    place: toolFormat.place,
    text: toolFormat.render(tools),
  };
}

function toMessage({
  role,
  content,
  name = '',
  tool_call_id: callId = '',
  tool_calls: calls,
}: OfficialMessage): Message {
  if (role === 'tool') {
    return { role: 'user', text: `${name} gave ${content}`, toolExchange: { kind: 'result', callId, name, content } };
  }
  if (!calls) return { role, text: content };
  const made = calls.map(({ id, function: call }) => ({ id, ...call }));
  return { role, text: 'a call', toolExchange: { kind: 'calls', text: content, calls: made } };
}

/** Converts an official prompt to a prompt for the engine. */
export const toPrompt = ({ format, messages, tools }: OfficialPrompt): Prompt => ({
  messages: messages.map(toMessage),
  ...(tools.length > 0 && { tools: toToolBlock(format, tools) }),
});
