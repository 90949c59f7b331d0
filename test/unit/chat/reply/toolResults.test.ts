import { describe, expect, it } from 'vitest';
import { nativeFormat } from '../../../../src/chat/dialect/nativeFormat.ts';
import { formats } from '../../../../src/chat/formats/index.ts';
import { parseReply } from '../../../../src/chat/reply/parseReply.ts';
import { namedJsonCalls } from '../../../helpers/callLayouts.ts';
import { createTool } from '../../../helpers/toolCalls.ts';

const tools = [createTool({ name: 'set_lamp' })];
const allFormats = new Map([...formats, ['native', nativeFormat(namedJsonCalls)]]);

function read(text: string, name = 'chatml') {
  const format = allFormats.get(name);
  if (!format) throw new Error(`there is no format ${name}`);
  const { calls, answer, content, unread } = parseReply(text, format, { tools });
  return { calls: calls.length, answer, content, unread: unread.map(({ reason }) => reason) };
}

describe('a result that is invented after a call', () => {
  const call = '<tool_call>\n{"name": "set_lamp", "arguments": {"on": true}}\n</tool_call>';

  it.each([
    `${call}\n<tool_response>\n{"ok": true}\n</tool_response>\nThe lamp is on.`,
    `${call}\n<tool_response>\nIt is on now.\n</tool_response>\nThe lamp is on.`,
    `${call}<|tool_response>response:set_lamp{ok:true}<tool_response|>The lamp is on.`,
    `${call}<|tool_response_start|>{"ok": true}<|tool_response_end|>The lamp is on.`,
    `${call}<｜tool▁outputs▁begin｜><｜tool▁output▁begin｜>ok<｜tool▁output▁end｜><｜tool▁outputs▁end｜>The lamp is on.`,
    `${call}\n<tool_result>{"ok": true}</tool_result>\n<tool_result>{}</tool_result>\nThe lamp is on.`,
    `${call}\n<tool_response>\n{"ok": true}\nThe lamp is on.`,
    `${call}\n</tool_response>\nThe lamp is on.`,
    `[TOOL_CALLS][{"name": "set_lamp", "arguments": {}}][TOOL_RESULTS]{"ok": true}[/TOOL_RESULTS]The lamp is on.`,
  ])('is no part of the answer: %j', (text) => {
    const answer = 'The lamp is on.';
    expect(read(text)).toEqual({ calls: 1, answer, content: answer, unread: [] });
  });

  it('is left out with all that follows, where nothing closes it and it is no JSON', () => {
    expect(read(`At once.\n${call}\n<tool_response>\nThe lamp is on.`)).toMatchObject({ answer: 'At once.' });
    expect(read(`${call}\n<tool_response>\nIt is on.\n${call}\nDone.`)).toMatchObject({ calls: 2, answer: 'Done.' });
  });

  it('is left out where a sentence stands between the two', () => {
    const text = `${call}\nLet me see.\n<tool_response>{"ok": true}</tool_response>\nDone.`;
    expect(read(text)).toMatchObject({ calls: 1, answer: 'Let me see.\nDone.' });
  });

  it('is left out after a call of a layout, also one that cannot be read', () => {
    const result = '[TOOL_RESULTS]{"ok": true}[/TOOL_RESULTS]Done.';
    expect(read(`<call>set_lamp<args>{"on": true}</call>${result}`, 'native')).toMatchObject({ answer: 'Done.' });
    expect(read(`<tool_call>on</tool_call>${result}`)).toMatchObject({ calls: 0, answer: 'Done.' });
  });
});

it.each(['Write <tool_response> after it.', '<tool_response>\nIt is on.\n</tool_response>'])(
  'the mark of a result without a call is text: %j',
  (text) => {
    expect(read(text)).toMatchObject({ calls: 0, content: text });
  },
);
