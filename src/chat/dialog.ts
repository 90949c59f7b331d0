import { toFunctionDefinition } from './formats/toolText.ts';
import type { Tool, ToolCallFormat } from './tool.ts';
import type { InsightParam } from './tools/validate/callIssues.ts';

/** One chat message of a prompt, as a model's chat template takes it. */
export interface Message {
  readonly role: 'system' | 'user' | 'assistant';
  /** Calls and results are written out in our own wording, for models whose template does not support tools. */
  readonly text: string;
  /** The tool call or result of this message, for a template that supports tools. */
  readonly toolExchange?: ToolExchange;
}

/** Tool calls of the assistant, or the result of one call, in a prompt. */
export type ToolExchange =
  | {
      readonly kind: 'calls';
      /** The answer text in addition to the calls. */
      readonly text: string;
      readonly calls: readonly { readonly id: string; readonly name: string; readonly arguments: object }[];
    }
  | { readonly kind: 'result'; readonly callId: string; readonly name: string; readonly content: string };

/** A tool definition as chat templates take it. Keys are in the order in which the model reads them. */
export interface ToolDefinition {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly description: string; readonly parameters: object };
}

/** The tools of a prompt, both as data and rendered as text. */
export interface ToolBlock {
  readonly format: string;
  /** The tools as plain data, for a model whose own chat template supports tools in this format. */
  readonly definitions: readonly ToolDefinition[];
  /** Where `text` is: at the end of the system message, or before the text of the first or last user message. */
  readonly place: 'system' | 'first-user' | 'last-user';
  /** The tools in our own wording, for all other models. */
  readonly text: string;
}

export const toToolBlock = (tools: readonly Tool[], format: ToolCallFormat): ToolBlock => ({
  format: format.name,
  definitions: tools.map(toFunctionDefinition),
  place: format.place,
  text: format.render(tools),
});

/** The prompt of an inference node: messages, the last of which the model answers, and the tools that it may call. */
export interface Prompt {
  readonly messages: readonly Message[];
  readonly tools?: ToolBlock;
  /** Whether a reasoning model may write reasoning; absent = the default of its chat template. */
  readonly thinking?: boolean;
}

/** The messages of a prompt with the rendered tools inserted, for a model whose template does not support tools. */
export function insertTools({ messages, tools }: Prompt): readonly Message[] {
  if (!tools) return messages;
  if (tools.place === 'system') {
    const [first, ...rest] = messages;
    if (first?.role !== 'system') return [{ role: 'system', text: tools.text }, ...messages];
    return [{ role: 'system', text: first.text === '' ? tools.text : `${first.text}\n\n${tools.text}` }, ...rest];
  }
  // Results are written as user messages where a template has no role for them.
  const isUser = ({ role, toolExchange }: Message): boolean => role === 'user' && !toolExchange;
  const targetIndex = tools.place === 'first-user' ? messages.findIndex(isUser) : messages.findLastIndex(isUser);
  return messages.map((message, index) =>
    index === targetIndex ? { ...message, text: tools.text + message.text } : message,
  );
}

/** Messages with calls and results as texts; results in a row are one message. @param kinds what becomes text. */
export function exchangesAsText(
  messages: readonly Message[],
  kinds: readonly ToolExchange['kind'][] = ['calls', 'result'],
): readonly Message[] {
  const written: Message[] = [];
  messages.forEach((message, index) => {
    const kind = message.toolExchange?.kind;
    const { role, text } = message;
    const last = written.at(-1);
    if (!kind || !kinds.includes(kind)) written.push(message);
    else if (last && kind === 'result' && messages[index - 1]?.toolExchange?.kind === 'result')
      written[written.length - 1] = { role, text: `${last.text}\n${text}` };
    else written.push({ role, text });
  });
  return written;
}

/** The messages of a prompt as texts alone: tools, calls and results in our own wording. */
export const toTextMessages = (prompt: Prompt): readonly Message[] => exchangesAsText(insertTools(prompt));

/** One turn in the dialog: the user's message and the text that was sent to the client. */
export interface Interaction {
  readonly user: string;
  readonly assistant: string;
  /** What later prompts show in place of `assistant`: the fields of an answer, as JSON. */
  readonly prompted?: string;
  /**
   * Set when the turn was cancelled or failed; `assistant` is then what had been sent until then. `forgotten`: later turns do
   * not see it. `recorded`: no model answered it, and later turns see its message without an answer.
   */
  readonly mark?: 'cancelled' | 'failed' | 'forgotten' | 'recorded';
  /** Template variables that the client sent with the message. */
  readonly variables?: Readonly<Record<string, string>>;
  /** What later prompts show as the answer of a turn that called tools and sent no text. */
  readonly spoken?: string;
  /** Results of its calls that stay in the dialog. */
  readonly results?: readonly DialogResult[];
  /** What the client has kept with results of its calls; in no prompt. */
  readonly result_metadata?: readonly CallMetadata[];
  /** In a saved dialog, on the last entry: what the agent keeps in addition. */
  readonly agent?: SavedState;
  /** What later prompts show of the interaction, in place of all else: it was given as messages. */
  readonly messages?: readonly Message[];
}

/** A detected call that lacks something or is unsure, which is kept for later turns. */
export interface PendingCall {
  /** The node that detected it. */
  readonly node: string;
  readonly tool_name: string;
  /** JSON text of its arguments that are valid. */
  readonly arguments_json: string;
  /** What the user is asked for, by precedence. */
  readonly missing: readonly Pick<InsightParam, 'name' | 'message' | 'significance' | 'examples'>[];
  /** How many more turns it is kept without progress. */
  readonly turns_left: number;
}

/** The result of a call that stays in the dialog (lifespan DIALOG). */
export interface DialogResult {
  readonly call_id: string;
  readonly name: string;
  /** JSON text of the arguments, coerced to the declared types. */
  readonly arguments_json: string;
  readonly ok: boolean;
  /** Text or JSON. */
  readonly content: string;
}

export interface CallMetadata extends Pick<DialogResult, 'call_id' | 'name'> {
  /** A JSON document. */
  readonly metadata_json: string;
}

/** What an agent keeps in addition to its dialog, as it is saved. */
export interface SavedState {
  /** MANUAL: people answer. Default: AUTO. */
  readonly mode?: 'AUTO' | 'MANUAL';
  /** Variables of all its turns. */
  readonly variables?: Readonly<Record<string, string>>;
  /** The calls that lack something, of each node one at most. */
  readonly pending?: readonly PendingCall[];
  /** The running summaries, of each node one at most. */
  readonly summaries?: readonly SavedSummary[];
}

export interface SavedSummary {
  /** The node whose prompts have it. */
  readonly node: string;
  readonly text: string;
  readonly interactions: number;
  /** How many entries of the dialog, up to that with the state, come after those that it stands for. */
  readonly entries_after: number;
}

/** The conversation so far, oldest interaction first. */
export interface Dialog {
  readonly interactions: readonly Interaction[];
}
