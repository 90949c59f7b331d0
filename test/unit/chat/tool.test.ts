import { expect, it } from 'vitest';
import { resultContent } from '../../../src/chat/tool.ts';

it.each([
  ['no bulb', 'Error: no bulb'],
  ['', 'Error'],
  ['[Errno 2] no such file', 'Error: [Errno 2] no such file'],
  ['{name} is unknown', 'Error: {name} is unknown'],
  ['[]x', 'Error: []x'],
  ['{"error": "no bulb"}', '{"error": "no bulb"}'],
  [' [1, 2]\n', ' [1, 2]\n'],
])('the content of a failed result %j says that it is an error, unless it is JSON', (content, shown) => {
  expect(resultContent({ ok: false, content })).toBe(shown);
  expect(resultContent({ ok: true, content })).toBe(content);
});
