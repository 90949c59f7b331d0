import { describe, expect, it } from 'vitest';
import { formats } from '../../../../../src/chat/formats/index.ts';
import { parseReply } from '../../../../../src/chat/reply/parseReply.ts';
import { namedJsonCalls } from '../../../../helpers/callLayouts.ts';
import { nativeFormat } from '../../../../../src/chat/dialect/nativeFormat.ts';
import { createTool } from '../../../../helpers/toolCalls.ts';

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

  it.each([
    ['<tool_call>{"name": 7, "arguments": {}}</tool_call>', 'the JSON after <tool_call> has no name'],
    [
      '<tool_call>{"name": "set_lamp", "arguments": true}</tool_call>',
      'the JSON after <tool_call> has arguments that are no object',
    ],
    [
      '<tool_call>{"name": "set_lamp", "description": "d", "parameters": {"type": "object"}}</tool_call>',
      'the JSON after <tool_call> repeats the declaration of a tool',
    ],
    ['<tool_call>{"name": "Ada", "email": "ada@example.org"}</tool_call>', 'the JSON after <tool_call> is no call'],
    ['[TOOL_CALLS] []', 'the JSON after [TOOL_CALLS] is no call'],
    ['[TOOL_CALLS]set_lamp[ARGS]{"on": }', 'the JSON after [TOOL_CALLS] is malformed'],
    ['{"on": true}</function>', 'the JSON before </function> is no call'],
    [
      '{"tool": "set_lamp", "args": {"on": true}, "more": 1}',
      'the JSON of a call has a member "more" in addition to name and arguments',
    ],
    [
      '{"name": "set_lamp", "arguments": {"on": true}, "reason": "dark"}',
      'the JSON of a call has a member "reason" in addition to name and arguments',
    ],
    ['{"name": "set_lamp", "room": "attic"}', 'the JSON of a call has no arguments, but a member "room"'],
    ['{"arguments": {"on": true}}', 'the JSON of a call has no name'],
    ['"name": "set_lamp", "arguments": {"on": true}}', 'the JSON of a call lacks its opening brace'],
    ['{"name": "set_lamp", "argu', 'the JSON of a call is cut off by the end of the text'],
    ['set_lamp{"on": true}', 'a call has no mark before it'],
    ['<tool_cal>', '<tool_cal> is no mark of a call'],
    ['</tool_call>', '</tool_call> closes no call'],
  ])('says what is wrong: %s', (markup, reason) => {
    expect(read(markup)).toEqual({ calls: [], answer: '', unread: [[markup, reason]] });
  });

  it('is what a native layout writes, cut off', () => {
    const markup = '<calls><call>set_lamp<args>{"on": tr';
    const { answer, unread } = parseReply(`At once.\n${markup}`, nativeFormat(namedJsonCalls), { tools });
    expect(answer).toBe('At once.');
    expect(unread).toEqual([{ text: markup, reason: 'the JSON after <call> is cut off by the end of the text' }]);
  });

  it('is no more than a closing mark after a call that was read', () => {
    const call = '<tool_call>{"name": "get_tide"}';
    for (const rest of ['</tool_', '</tool_call></tool_call>', '\n}</tool_cal>'])
      expect(read(call + rest)).toEqual({ calls: ['get_tide'], answer: '', unread: [] });
    expect(read(`${call}</tool_call>\n<tool_c`)).toMatchObject({
      calls: ['get_tide'],
      unread: [['<tool_c', expect.any(String)]],
    });
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
