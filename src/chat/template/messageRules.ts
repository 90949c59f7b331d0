import type { Message } from '../dialog.ts';
import { unlessRefused } from './templateInput.ts';

/** Which messages a chat template writes, found by rendering probes. */
export interface MessageRules {
  /** Which system messages are written as such; the others are written as user messages. */
  readonly system: 'anywhere' | 'first' | 'nowhere';
  /** Whether the template leaves the system message out of a prompt that ends with the result of a call. */
  readonly dropsSystemBeforeResults: boolean;
  /** The messages with roles and in an order that the template accepts. */
  normalizeMessages(messages: readonly Message[]): readonly Message[];
}

/** Probes a chat template. @param render throws what the template throws. */
export function messageRules(render: (messages: readonly Message[]) => string): MessageRules {
  // Some templates throw on a message that they do not support, others leave it out silently.
  const accepts = (...messages: readonly Message[]): boolean => {
    const text = unlessRefused(() => render(messages));
    return text !== undefined && messages.every((message) => text.includes(message.text));
  };
  const acceptsSystemFirst = accepts(systemProbe, userProbe);
  const acceptsSystemAnywhere =
    acceptsSystemFirst &&
    accepts(systemProbe, userProbe, assistantProbe, laterSystemProbe, laterUserProbe) &&
    accepts(userProbe, laterSystemProbe);
  const acceptsRepeatedRoles =
    accepts(systemProbe, userProbe, laterUserProbe) &&
    accepts(userProbe, assistantProbe, assistantProbe, laterUserProbe);
  const acceptsAssistantFirst =
    accepts(assistantProbe, userProbe) && (!acceptsSystemFirst || accepts(systemProbe, assistantProbe, userProbe));
  const dropsSystemBeforeResults =
    acceptsSystemFirst &&
    unlessRefused(() => render([systemProbe, userProbe, callProbe, resultProbe]))?.includes(systemProbe.text) === false;
  return {
    dropsSystemBeforeResults,
    system: acceptsSystemAnywhere ? 'anywhere' : acceptsSystemFirst ? 'first' : 'nowhere',
    normalizeMessages(messages) {
      const withKnownRoles = acceptsSystemAnywhere
        ? messages
        : messages.map((message, index) => (acceptsSystemFirst && index === 0 ? message : systemAsUser(message)));
      const ordered = acceptsAssistantFirst ? withKnownRoles : userFirst(withKnownRoles);
      return acceptsRepeatedRoles && acceptsSystemAnywhere ? ordered : mergeAdjacent(ordered);
    },
  };
}

const systemAsUser = (message: Message): Message =>
  message.role === 'system' ? { role: 'user', text: message.text } : message;

/** With an empty user message before an answer that has none. */
function userFirst(messages: readonly Message[]): readonly Message[] {
  const start = messages[0]?.role === 'system' ? 1 : 0;
  if (messages[start]?.role !== 'assistant') return messages;
  return [...messages.slice(0, start), { role: 'user', text: '' }, ...messages.slice(start)];
}

/** Merges neighbours of the same role, but for tool calls and results. */
function mergeAdjacent(messages: readonly Message[]): readonly Message[] {
  const merged: Message[] = [];
  for (const message of messages) {
    const last = merged.at(-1);
    const areText = last && !last.toolExchange && !message.toolExchange;
    if (areText && last.role === message.role)
      merged[merged.length - 1] = { ...last, text: `${last.text}\n\n${message.text}` };
    else merged.push(message);
  }
  return merged;
}

const systemProbe: Message = { role: 'system', text: 'Probe of a rule.' };
const userProbe: Message = { role: 'user', text: 'Probe of a question.' };
const assistantProbe: Message = { role: 'assistant', text: 'Probe of an answer.' };
const laterSystemProbe: Message = { role: 'system', text: 'Probe of a later rule.' };
const laterUserProbe: Message = { role: 'user', text: 'Probe of a later question.' };
// A template of Mistral accepts only ids of nine characters.
const probeCall = { id: 'probe1234', name: 'probe_of_a_tool', arguments: {} } as const;
const callProbe: Message = {
  role: 'assistant',
  text: 'Probe of a call.',
  toolExchange: { kind: 'calls', text: '', calls: [probeCall] },
};
const resultProbe: Message = {
  role: 'user',
  text: 'Probe of a result.',
  toolExchange: { kind: 'result', callId: probeCall.id, name: probeCall.name, content: 'Probe of a result.' },
};
