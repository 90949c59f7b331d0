import { describe, expect, it } from 'vitest';
import type { ToolBlock } from '../../src/dialog.ts';
import { insertTools } from '../../src/dialog.ts';
import { placeTemplate } from '../../src/projection/placement.ts';

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
