import { describe, expect, it } from 'vitest';
import { formats } from '../../../../src/tools/formats/index.ts';
import { parseReply } from '../../../../src/tools/parseReply.ts';
import { createTool } from '../../../helpers/toolCalls.ts';

const tools = ['set_lamp', 'get_tide'].map((name) => createTool({ name }));

/** The answer of a reply, and the text and the reason of each piece of markup that gave no call. */
function read(text: string, formatName = 'chatml') {
  const format = formats.get(formatName);
  if (!format) throw new Error(`there is no format ${formatName}`);
  const { calls, answer, unread } = parseReply(text, format, { tools });
  return { calls: calls.map(({ name }) => name), answer, unread: unread.map((call) => [call.text, call.reason]) };
}

describe('markup that gives no call', () => {
  it.each([
    ['<tool_call>', 'the text ends inside the call that <tool_call> opens'],
    ['<tool_call>\n{"name": "set_la', 'the JSON after <tool_call> is cut off by the end of the text'],
    ['<tool_call>{"name": "set_lamp", "arguments": {on}}</tool_call>', 'the JSON after <tool_call> is malformed'],
    ['<tool_call>{"arguments": {}}</tool_call>', 'the JSON after <tool_call> has no name'],
    ['<tool_call>hello</tool_call>', 'no call follows <tool_call>'],
    ['[TOOL_CALLS]set_lamp[AR', 'the text ends inside the call that [TOOL_CALLS] opens'],
    ['<function=set_lamp>{"on": tr', 'the JSON after <function=set_lamp> is cut off by the end of the text'],
    ['<tool_ca', 'the text ends inside a mark of a call'],
    ['{"name": "set_lamp", "parameters": {"on": tr', 'the JSON of a call is cut off by the end of the text'],
  ])('is no answer, and has a reason: %s', (markup, reason) => {
    expect(read(markup)).toEqual({ calls: [], answer: '', unread: [[markup, reason]] });
    expect(read(`At once.\n${markup}`)).toEqual({ calls: [], answer: 'At once.', unread: [[markup, reason]] });
  });

  it('leaves the prose around a tag that it names', () => {
    expect(read('Use the <tool_call> tag.')).toMatchObject({
      answer: 'Use the tag.',
      unread: [['<tool_call>', expect.any(String)]],
    });
  });

  it('stands next to the calls of the same reply', () => {
    const good = '<tool_call>{"name": "get_tide"}</tool_call>';
    const bad = '<tool_call>{"name": "set_lamp", "arguments": {on}}</tool_call>';
    expect(read(`${good}\n${bad}\nDone.`)).toMatchObject({
      calls: ['get_tide'],
      answer: 'Done.',
      unread: [[bad, expect.any(String)]],
    });
  });

  it('is not looked for in reasoning', () => {
    expect(read('<think><tool_call>{"na</think>No.')).toEqual({ calls: [], answer: 'No.', unread: [] });
  });
});
