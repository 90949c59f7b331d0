import type { ToolDefinition } from '../dialog.ts';

/** A message as Hugging Face chat templates take it. */
export interface TemplateMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | null;
  /** What a reasoning model wrote before its answer. Templates know it under one of these keys. */
  readonly reasoning_content?: string;
  readonly reasoning?: string;
  readonly thinking?: string;
  readonly thought?: string;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: 'function';
    readonly function: { readonly name: string; readonly arguments: object | string };
  }[];
  /** Role `tool`: the id of the call that this is the result of. */
  readonly tool_call_id?: string;
  /** Role `tool`: the name of the tool. */
  readonly name?: string;
}

export interface TemplateInput {
  readonly messages: readonly TemplateMessage[];
  readonly tools?: readonly ToolDefinition[];
  /** Whether the prompt ends where the assistant's answer starts; default true. */
  readonly addGenerationPrompt?: boolean;
  /** Further variables of the template, e.g. `enable_thinking`. */
  readonly variables?: Readonly<Record<string, unknown>>;
}

/** Renders messages, and tools if any, as one prompt. @throws Error with the template's own message when it refuses. */
export type RenderTemplate = (input: TemplateInput) => string;

/** What a rendering gives; undefined where the template refuses it. */
export function unlessRefused<T>(render: () => T): T | undefined {
  try {
    return render();
  } catch {
    return undefined;
  }
}
