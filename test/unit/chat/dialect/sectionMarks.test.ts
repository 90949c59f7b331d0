import { describe, expect, it } from 'vitest';
import { nativeFormat } from '../../../../src/chat/dialect/nativeFormat.ts';
import { parseReply } from '../../../../src/chat/reply/parseReply.ts';
import { namedJsonCalls } from '../../../helpers/callLayouts.ts';
import { createTool } from '../../../helpers/toolCalls.ts';

const tools = [createTool({ name: 'set_lamp' })];
// A template that does not write the end of a section of one call.
const format = nativeFormat({
  ...namedJsonCalls,
  open: '<｜calls▁begin｜>',
  close: '',
  separator: '\n',
  before: ['<｜call▁begin｜>function<｜sep｜>'],
  between: ['\n```json\n'],
  after: ['\n```<｜call▁end｜>'],
});

function read(text: string) {
  const { calls, answer, unread } = parseReply(text, format, { tools });
  return { calls: calls.map(({ name }) => name), answer, unread: unread.length };
}

describe('the marks around a section of calls', () => {
  const call = '<｜call▁begin｜>function<｜sep｜>set_lamp\n```json\n{"on": true}\n```<｜call▁end｜>';

  it.each([
    `<｜calls▁begin｜>${call}<｜calls▁end｜>`,
    `<｜calls▁begin｜>${call}\n<｜calls▁end｜>\n`,
    `${call}<｜calls▁end｜>`,
    'function<｜sep｜>set_lamp\n```json\n{"on": true}\n```',
    'function <｜sep｜>set_lamp\n```json\n{"on": true}\n```<｜call▁end｜>',
  ])('are no part of the answer: %j', (text) => {
    expect(read(text)).toEqual({ calls: ['set_lamp'], answer: '', unread: 0 });
    expect(read(`At once.\n${text}`)).toEqual({ calls: ['set_lamp'], answer: 'At once.', unread: 0 });
  });

  it('are left out after each of several calls, and between them', () => {
    const text = `<｜calls▁begin｜>${call}\n${call}<｜calls▁end｜>`;
    expect(read(`${text}\nDone.`)).toEqual({ calls: ['set_lamp', 'set_lamp'], answer: 'Done.', unread: 0 });
  });

  it('take no part of another word with them', () => {
    expect(read('My malfunction<｜sep｜>set_lamp\n```json\n{"on": true}\n```').answer).toBe('My malfunction');
  });
});
