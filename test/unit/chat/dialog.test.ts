import { describe, expect, it } from 'vitest';
import { type ToolBlock, exchangesAsText, insertTools, type Message } from '../../../src/chat/dialog.ts';
import { placeTemplate } from '../../../src/graph/projection/projection.ts';

const toolBlock = (slot: ToolBlock['place']): ToolBlock => ({
  format: 'chatml',
  definitions: [],
  place: slot,
  text: 'TOOLS',
});

describe('tools in a prompt', () => {
  const messages = placeTemplate('now');
  const history = [{ role: 'user', text: 'hello' } as const, { role: 'assistant', text: 'hi' } as const];

  it.each([
    [
      'at the end of the system message',
      'system',
      [{ role: 'system', text: 'be kind' }, ...history, ...messages],
      'be kind\n\nTOOLS|hello|hi|now',
    ],
    ['as the system message when there is none', 'system', [...history, ...messages], 'TOOLS|hello|hi|now'],
    ['before the first message of the user', 'first-user', [...history, ...messages], 'TOOLShello|hi|now'],
    ['before the last message of the user', 'last-user', [...history, ...messages], 'hello|hi|TOOLSnow'],
  ] as const)('are placed %s', (_, where, dialog, expected) => {
    expect(
      insertTools({ messages: dialog, tools: toolBlock(where) })
        .map(({ text }) => text)
        .join('|'),
    ).toBe(expected);
  });
});

describe('calls and results as text', () => {
  const calls: Message = { role: 'assistant', text: 'CALLS', toolExchange: { kind: 'calls', text: '', calls: [] } };
  const result = (text: string): Message => ({
    role: 'user',
    text,
    toolExchange: { kind: 'result', callId: 'a', name: 'f', content: '' },
  });
  const user: Message = { role: 'user', text: 'USER' };
  const messages = [user, calls, result('1'), result('2'), user, calls, result('3'), calls, result('4')];

  it('are joined where results follow each other, and are no calls and results any more', () => {
    expect(exchangesAsText(messages)).toEqual([
      user,
      { role: 'assistant', text: 'CALLS' },
      { role: 'user', text: '1\n2' },
      user,
      { role: 'assistant', text: 'CALLS' },
      { role: 'user', text: '3' },
      { role: 'assistant', text: 'CALLS' },
      { role: 'user', text: '4' },
    ]);
  });

  it('can be the results alone', () => {
    expect(exchangesAsText(messages.slice(0, 4), ['result'])).toEqual([user, calls, { role: 'user', text: '1\n2' }]);
    expect(exchangesAsText(messages, [])).toEqual(messages);
  });
});
