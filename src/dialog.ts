import { toFunctionDefinition } from './tools/formats/functionJson.ts';
import type { Tool, ToolCallFormat } from './tools/tool.ts';

/** One utterance as a model's chat template takes it. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  /** What is said; of calls and results our own wording, for a model whose template knows no tools. */
  readonly text: string;
  /** What the message is to a template that knows tools, where that is more than its text. */
  readonly toolExchange?: ToolExchange;
}

/** One side of a tool call within a prompt: the calls of an answer, or the result of one. */
export type ToolExchange =
  | {
      readonly kind: 'calls';
      /** What is said beside the calls. */
      readonly text: string;
      readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: object }[];
    }
  | { readonly kind: 'result'; readonly callId: string; readonly name: string; readonly content: string };

/** A tool as chat templates take it; its keys stand in the order in which the model reads them. */
export interface ToolDefinition {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly description: string; readonly parameters: object };
}

/** Tools as they go into a prompt. */
export interface ToolBlock {
  /** The tool-call format in use. */
  readonly format: string;
  /** The tools as plain data, for a model whose own template knows tools and speaks this format. */
  readonly definitions: readonly ToolDefinition[];
  /** Where our own wording stands: at the end of the system message, or before the text of the first or last user message. */
  readonly place: 'system' | 'first-user' | 'last-user';
  /** Our own wording, for every other model. */
  readonly text: string;
}

/** Tools as a format puts them into a prompt. */
export const toToolBlock = (tools: readonly Tool[], format: ToolCallFormat): ToolBlock => ({
  format: format.name,
  definitions: tools.map(toFunctionDefinition),
  place: format.place,
  text: format.render(tools),
});

/** What an inference node asks a model: the messages, the last of which awaits an answer, and the tools on offer. */
export interface Prompt {
  readonly messages: readonly Message[];
  readonly tools?: ToolBlock;
  /** Whether a model that reasons aloud may; absent = as its template has it. */
  readonly thinking?: boolean;
}

/** The messages of a prompt with our own wording of the tools put in their place. */
export function insertTools({ messages, tools }: Prompt): readonly Message[] {
  if (!tools) return messages;
  if (tools.place === 'system') {
    const [first, ...rest] = messages;
    if (first?.role !== 'system') return [{ role: 'system', text: tools.text }, ...messages];
    return [{ role: 'system', text: first.text === '' ? tools.text : `${first.text}\n\n${tools.text}` }, ...rest];
  }
  const isUser = (message: Message): boolean => message.role === 'user';
  const at = tools.place === 'first-user' ? messages.findIndex(isUser) : messages.findLastIndex(isUser);
  return messages.map((message, index) => (index === at ? { ...message, text: tools.text + message.text } : message));
}

/** One turn as the dialog keeps it: what the user said and what the client was sent. */
export interface Interaction {
  readonly user: string;
  readonly assistant: string;
  /** How the turn ended when it did not end well; the answer is then what had been sent until there. */
  readonly mark?: 'cancelled' | 'failed';
  /** What the client gave along with the message. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** The conversation so far, oldest interaction first. */
export interface Dialog {
  readonly interactions: readonly Interaction[];
}
