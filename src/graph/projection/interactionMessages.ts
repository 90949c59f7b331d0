import type { DialogResult, Interaction, Message } from '../../chat/dialog.ts';
import { resultLine } from '../../chat/calls.ts';

/**
 * Whether a prompt shows an interaction. One without an answer, for example of a turn that failed, would leave a question
 * open, and the model would answer it again.
 */
export const isAnswered = ({ assistant, spoken = '', messages }: Interaction): boolean =>
  messages !== undefined || assistant !== '' || spoken !== '';

/** An interaction as messages of a prompt. */
export function toMessages({ user, assistant, spoken, results = [], messages }: Interaction): readonly Message[] {
  if (messages) return messages;
  return [
    // What was appended to the dialog may have no message of the user.
    ...(user === '' && assistant !== '' ? [] : [{ role: 'user', text: user } as const]),
    ...results.map((result) => ({ role: 'system', text: dialogResultLine(result) }) as const),
    { role: 'assistant', text: assistant || (spoken ?? '') },
  ];
}

/** A result of an earlier turn as a plain line: never as a call, because models imitate the calls that they see. */
const dialogResultLine = ({ name, arguments_json, ok, content }: DialogResult): string =>
  resultLine({ name: arguments_json === '{}' ? name : `${name} ${arguments_json}`, ok, content });
