import { describe, expect, it } from 'vitest';
import { nativeFormat } from '../../../../../src/chat/dialect/nativeFormat.ts';
import { formats } from '../../../../../src/chat/formats/index.ts';
import { parseReply } from '../../../../../src/chat/reply/parseReply.ts';
import { callsInTags } from '../../../../../src/chat/dialect/knownLayouts.ts';
import { createTool } from '../../../../helpers/toolCalls.ts';

const tools = [createTool({ name: 'set_lamp' }), createTool({ name: 'read' })];
const read = (name: string, text: string) => {
  const format = formats.get(name);
  if (!format) throw new Error(`there is no format ${name}`);
  const { calls, answer, unread } = parseReply(text, format, { tools });
  return { calls: calls.map((call) => call.name), answer, unread: unread.length };
};

describe.each([...formats.keys()].filter((name) => name !== 'react'))('JSON without a tag in %s', (name) => {
  it.each([
    '{"name": "Alice"}',
    '{"id": 7, "name": "Alice"}',
    '[{"name": "Alice"}, {"name": "Bob"}]',
    'The record is {"type": "user", "name": "Alice"}.',
    'Config: {"name": "stage1", "input": {"path": "a.csv"}}',
    'It is {"name": "app", "version": "1.0.0", "parameters": {"x": 1}}.',
    '```json\n{"name": "my-app", "version": "1.0.0", "dependencies": {}}\n```',
    '{"name": "Alice", "input": {"age": 7}}',
  ])('that is data is the answer: %s', (text) => {
    expect(read(name, text)).toEqual({ calls: [], answer: text, unread: 0 });
  });

  it('is a call where its name is that of a tool, with the keys of any format, also with one wrong letter', () => {
    for (const called of ['set_lamp', 'set_lam', 'set_lemp', 'read']) {
      for (const call of [
        { name: called, arguments: { on: true } },
        { tool: called, args: { on: true } },
      ])
        expect(read(name, JSON.stringify(call))).toEqual({ calls: [called], answer: '', unread: 0 });
    }
  });
});

describe.each(['chatml', 'llama3', 'mistral', 'generic'])('data beside tools with short names in %s', (name) => {
  const short = ['look', 'note', 'use', 'attack'].map((each) => createTool({ name: each }));
  const readShort = (text: string) => {
    const { calls, answer, unread } = parseReply(text, formats.get(name) ?? expect.fail(), { tools: short });
    return { calls: calls.map((call) => call.name), answer, unread: unread.length };
  };

  it.each([
    'The shelf holds {"name": "book"} and {"name": "cup"}.',
    '{"name": "Book"}',
    '{"name": "Attack"}',
    '[{"name": "cook"}, {"name": "hook"}]',
    '{"type": "item", "id": 3, "name": "Note"}',
    '{"tool": "none"}',
    '{"tool": "attach"}',
    '{"name": "us", "input": {"x": 1}}',
  ])('is no misspelled call: %s', (text) => {
    expect(readShort(text)).toEqual({ calls: [], answer: text, unread: 0 });
  });

  it('is a call where the name is right, or a longer one is misspelled before arguments', () => {
    expect(readShort('{"name": "look", "arguments": {}}').calls).toEqual(['look']);
    expect(readShort('{"name": "note"}').calls).toEqual(['note']);
    expect(readShort('{"name": "atack", "arguments": {"x": 1}}').calls).toEqual(['atack']);
    expect(readShort('{"name": "book", "arguments": {"x": 1}}').calls).toEqual([]);
  });
});

describe('marks of other families around a call', () => {
  const call = '{"name": "set_lamp", "arguments": {"on": true}}';

  it.each([
    `<tools>\n${call}\n</tools>`,
    `[TOOL_REQUEST]${call}[END_TOOL_REQUEST]`,
    `<|python_start|>${call}<|python_end|>`,
    `functools[${call}]`,
    `<functioncall> ${call} </functioncall>`,
    `<TOOLCALL>[${call}]</TOOLCALL>`,
    `${call}<|call|>`,
    `Tool call: ${call}`,
    `&lt;tool_call&gt;${call}&lt;/tool_call&gt;`,
    `**Tool call:**\n\`\`\`json\n${call}\n\`\`\``,
    `Function Call: ${call}`,
    `Action: ${call}`,
    `Action:\n\`\`\`json\n[${call}]\n\`\`\``,
    `\`\`\`\n[ ${call} ]\n\`\`\``,
    `TOOL_CALLS [${call}]`,
    `<|assistant|>\n${call}`,
    `<|im_start|>assistant\n${call}`,
    `<tool-call>${call}</tool-call>`,
    `<tool call>${call}</tool call>`,
    `<action>${call}</action>`,
    `json\n${call}`,
    `<tool_call>\n${call},\n</tool_call>`,
    `<tool_call>\n${call};</tool_call>`,
  ])('are no part of the answer: %s', (text) => {
    expect(read('chatml', text)).toEqual({ calls: ['set_lamp'], answer: '', unread: 0 });
    expect(read('chatml', `At once. ${text}`)).toMatchObject({ calls: ['set_lamp'], answer: 'At once.' });
  });

  it('are no part of it between a call and prose, either', () => {
    const text = `<tool_call>${call}</tool_call>\n<|im_start|>assistant\nIt is on.`;
    expect(read('chatml', text)).toEqual({ calls: ['set_lamp'], answer: 'It is on.', unread: 0 });
  });

  it.each([
    'I import functools.',
    'Use <b>bold</b> and [TODO] marks.',
    'A tool call: that is what I need.',
    'Action: she runs.',
    'The file is json\nand {"a": 1} is in it.',
    'He gave it a <tool call>.',
    '**Tool call:** a phone call for tools.',
  ])('stay where no call is: %s', (text) => {
    expect(read('chatml', text)).toEqual({ calls: [], answer: text, unread: 0 });
  });
});

it('a call of an unknown tool stays a call in a tag', () => {
  expect(read('chatml', '<tool_call>{"name": "open", "arguments": {}}</tool_call>').calls).toEqual(['open']);
});

describe('an untagged call of an offered tool, where the model writes its calls in tags', () => {
  const own = nativeFormat(callsInTags);
  const call = '{"name": "set_lamp", "arguments": {"on": true}}';
  const readOwn = (text: string) => {
    const { calls, answer, unread } = parseReply(text, own, { tools });
    return { calls: calls.map(({ name }) => name), answer, reasons: unread.map(({ reason }) => reason) };
  };

  it.each([
    call,
    `\`\`\`json\n${call}\n\`\`\``,
    `Calling:\n${call}`,
    `工具：\n${call}`,
    `呼び出し\n${call}`,
    `[${call}]`,
    `${call};`,
  ])('is a call where no prose stands beside it: %s', (text) => {
    expect(readOwn(text)).toMatchObject({ calls: ['set_lamp'], reasons: [] });
  });

  it.each([
    [`To switch it on you would write ${call}.`, 'To switch it on you would write .'],
    [`An example. ${call} Ask me for another one.`, 'An example. Ask me for another one.'],
    [`${call}\n\nThis is how such a call looks.`, 'This is how such a call looks.'],
    [`It looks like this:\n\`\`\`json\n${call}\n\`\`\`\nAnything else?`, 'It looks like this:\nAnything else?'],
    [`例如，你可以这样写：${call}，然后我会回答。`, '例如，你可以这样写： ，然后我会回答。'],
    [`我来查一下奥斯陆的天气，请稍等。\n${call}`, '我来查一下奥斯陆的天气，请稍等。'],
    [`少々お待ちください。\n${call}`, '少々お待ちください。'],
    [`ランプをつけるときは${call}と書きます`, 'ランプをつけるときは と書きます'],
    [`ฉันจะเปิดไฟเดี๋ยวนี้\n${call}`, 'ฉันจะเปิดไฟเดี๋ยวนี้'],
    [`지금 불을 켤게요.\n${call}`, '지금 불을 켤게요.'],
  ])('is no call beside prose, is reported, and is no part of the answer: %s', (text, answer) => {
    const reasons = ['it stands next to prose, without the marks of a call'];
    expect(readOwn(text)).toEqual({ calls: [], answer, reasons });
  });

  it('is a call beside prose with any mark around it, also with a broken one', () => {
    for (const [open, close] of [
      ['<tool_call>', '</tool_call>'],
      ['<tool_cal>', '</tool_call>'],
      ['<tools>', '</tools>'],
      ['[TOOL_REQUEST]', '[END_TOOL_REQUEST]'],
      ['\n```tool_call\n', '\n```'],
      ['\n```tool_code\n[', ']\n```'],
      ['tool_call>\n', '\n</tool_call>'],
      ['<tool_call', '</tool_call>'],
      ['<action>', '</action>'],
      ['<tool-call>', '</tool-call>'],
      ['Tool call: ', ''],
      ['', '</tool_call>'],
      ['', ' <|call|>'],
    ])
      expect(readOwn(`I switch it on now. ${open}${call}${close}`)).toMatchObject({
        calls: ['set_lamp'],
        answer: 'I switch it on now.',
      });
  });
});
