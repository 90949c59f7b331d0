import type { Interaction } from '../dialog.ts';
import { Fault, describeError } from '../fault.ts';
import { describePointer } from '../jsonPointer.ts';
import { createReader, type Schema } from '../schema.ts';

/** The shape of a saved conversation: what exportDialog gives, and what createAgent goes on from. */
export const historySchema = {
  type: 'array',
  items: {
    type: 'object',
    additionalProperties: false,
    required: ['user', 'assistant'],
    properties: {
      user: { type: 'string', description: 'What the user said.' },
      assistant: { type: 'string', description: 'What the client was sent.' },
      mark: {
        type: 'string',
        enum: ['cancelled', 'failed'],
        description: 'How the turn ended when it did not end well.',
      },
      variables: { type: 'object', additionalProperties: { type: 'string' }, description: 'Variables of the message.' },
    },
  },
} as const satisfies Schema;

const read = createReader(historySchema);

/** A conversation out of its JSON text; "" = none. @throws Fault MALFORMED_MESSAGE with the place. */
export function parseHistory(text: string): readonly Interaction[] {
  if (text === '') return [];
  const reading = read(parsed(text));
  if (reading.ok) return reading.value;
  const sentences = reading.errors.map(
    ({ pointer, message }) => `createAgent.historyJson${describePointer(pointer)} ${message}`,
  );
  throw new Fault('MALFORMED_MESSAGE', sentences.slice(0, 3).join('; '));
}

/** The JSON text of a conversation: words, marks and variables. */
export const stringifyHistory = (interactions: readonly Interaction[]): string => JSON.stringify(interactions);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    const reason = describeError(cause);
    throw new Fault('MALFORMED_MESSAGE', `createAgent.historyJson is no JSON: ${reason}`, { cause });
  }
}
