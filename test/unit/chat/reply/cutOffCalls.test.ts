import { describe, expect, it } from 'vitest';
import type { CallLayout } from '../../../../src/chat/dialect/layout.ts';
import { nativeFormat, writeCalls } from '../../../../src/chat/dialect/nativeFormat.ts';
import { parseReply } from '../../../../src/chat/reply/parseReply.ts';
import { keyValueCalls, linesCalls, namedJsonCalls, pythonCalls } from '../../../helpers/callLayouts.ts';
import { createTool } from '../../../helpers/toolCalls.ts';

const tools = [createTool({ name: 'note', parameters: { type: 'object', properties: { text: { type: 'string' } } } })];
const prose = 'Meet me at noon, Ada. Bring the (old) map; it is "torn". Then {we} go.\nTo the tower, I said: run! ';

describe.each<[string, CallLayout]>([
  ['lines', linesCalls],
  ['keys and values', keyValueCalls],
  ['Python', pythonCalls],
  ['named JSON', namedJsonCalls],
])('a call in the layout of %s that is cut off', (_name, layout) => {
  const call = writeCalls([{ id: 'a1b2c3d4e', name: 'note', arguments: new Map([['text', prose]]) }], layout);
  const start = 'The sun is low.\n';

  it('leaves what stood before it as the answer, wherever it ends', () => {
    for (let end = call.indexOf('>') + 1; end < call.length; end++) {
      const cut = call.slice(0, end);
      const { calls, answer, unread } = parseReply(start + cut, nativeFormat(layout), { tools });
      expect([cut, answer]).toEqual([cut, start.trim()]);
      expect(calls.length + unread.length).toBeGreaterThan(0);
    }
  });

  it('is not searched for another call in its value, wherever it ends', () => {
    const [ring, text] = [
      createTool({ name: 'ring' }),
      'Write {"name": "ring"}, or {"name": "ring", "arguments": {}}.',
    ];
    const whole = writeCalls([{ id: 'a1b2c3d4e', name: 'note', arguments: new Map([['text', text]]) }], layout);
    for (let end = 0; end < whole.length; end++) {
      const { calls } = parseReply(start + whole.slice(0, end), nativeFormat(layout), { tools: [...tools, ring] });
      expect([whole.slice(0, end), ...calls.filter(({ name }) => name === 'ring')]).toHaveLength(1);
    }
  });
});

it('a mark in a sentence cuts off nothing', () => {
  const text = 'The mark <tool> begins a call. Then {"a": 1} follows.';
  expect(parseReply(text, nativeFormat(linesCalls), { tools })).toMatchObject({ calls: [], content: text });
});

it.each([
  ['Python', pythonCalls, '<calls>[note(text="a"), ', 'no'],
  ['Python, with a semicolon', pythonCalls, '<calls>[note(text="a"); ', 'note'],
  ['named JSON', namedJsonCalls, '<calls><call>note<args>{"text": "a"}</call>', '<call>no'],
])(
  'a reply that is cut off at the start of its second call has no markup in the answer: %s',
  (_, layout, first, rest) => {
    const { calls, answer, unread } = parseReply(`Ok, no, wait.\n${first}${rest}`, nativeFormat(layout), { tools });
    expect(calls.map(({ name }) => name)).toEqual(['note']);
    expect([answer, unread.map(({ text }) => text)]).toEqual(['Ok, no, wait.', [rest]]);
  },
);
