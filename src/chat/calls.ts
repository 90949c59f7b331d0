import type { JsonObject } from './json/value.ts';

/** A call as it is written into a prompt. */
export interface WrittenCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: JsonObject;
}

/** A call with the result that the client gave for it. */
export interface AnsweredCall extends WrittenCall {
  /** Whether the call succeeded. */
  readonly ok: boolean;
  /** Text or JSON. */
  readonly content: string;
  /** Whether later turns see the result, too. */
  readonly lifespan: 'TURN' | 'DIALOG';
}

/** The content of a result as a model reads it: text of a failed call says that it is an error, JSON stays as it is. */
export function resultContent({ ok, content }: Pick<AnsweredCall, 'ok' | 'content'>): string {
  if (ok || /^\s*[[{]/.test(content)) return content;
  return content === '' ? 'Error' : `Error: ${content}`;
}

/** A result as a plain line of text, with the name of the tool. */
export const resultLine = (call: Pick<AnsweredCall, 'name' | 'ok' | 'content'>): string =>
  `Result of ${call.name}: ${resultContent(call)}`;
