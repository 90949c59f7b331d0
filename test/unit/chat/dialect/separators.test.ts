import { expect, it } from 'vitest';
import { nativeFormat } from '../../../../src/chat/dialect/nativeFormat.ts';
import { parseReply } from '../../../../src/chat/reply/parseReply.ts';
import { pythonCalls } from '../../../helpers/callLayouts.ts';
import { createTool } from '../../../helpers/toolCalls.ts';

it.each([', ', '; ', ';', ' ;\n', ','])('calls of a list may have another separator: %j', (separator) => {
  const tools = ['wait', 'walk', 'talk'].map((name) => createTool({ name }));
  const text = `<calls>[wait()${separator}walk(far=True)${separator}talk()]</calls>`;
  const { calls, answer, unread } = parseReply(`At once.\n${text}`, nativeFormat(pythonCalls), { tools });
  expect({ names: calls.map(({ name }) => name), answer, unread }).toEqual({
    names: ['wait', 'walk', 'talk'],
    answer: 'At once.',
    unread: [],
  });
});
