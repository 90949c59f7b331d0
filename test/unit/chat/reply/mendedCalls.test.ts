import { describe, expect, it } from 'vitest';
import { formatsOf } from '../../../../src/chat/dialect/nativeFormat.ts';
import { formats } from '../../../../src/chat/formats/index.ts';
import { parseReply } from '../../../../src/chat/reply/parseReply.ts';
import { withOfferedName } from '../../../../src/chat/reply/mendedCalls.ts';
import { probeChatTemplate } from '../../../../src/chat/template/chatTemplate.ts';
import { namedJsonTemplate } from '../../../helpers/dialectTemplates.ts';
import { createTool } from '../../../helpers/toolCalls.ts';

const tools = [createTool({ name: 'lamp' }), createTool({ name: 'read' })];
// Calls are `<act>name<with>{...}</act>`.
const { toolDialect } = probeChatTemplate(namedJsonTemplate, { bos: '', eos: '' });

function read(text: string, name = 'native') {
  const format = formatsOf(toolDialect, formats).get(name);
  if (!format) throw new Error(`there is no format ${name}`);
  const { calls, answer, unread } = parseReply(text, format, { tools });
  return { calls: calls.map(({ name: called, repaired }) => [called, repaired]), answer, unread: unread.length };
}

describe('a damaged call of an offered tool', () => {
  it.each([
    ['native', '<act>functions.lamp<with>{"on": true}</act>'],
    ['native', '<act>lamp<with>{{"on": true}}</act>'],
    ['native', '<act>lamp<with>{"on": yes}</act>'],
    ['chatml', '<tool_call>{"name": "lamp", "arguments": {"on": yes}}</tool_call>'],
    ['chatml', '<tool_call>{name: "lamp", arguments: {on: true}}</tool_call>'],
    ['chatml', '<tool_call>{{"name": "lamp", "arguments": {"on": true}}}</tool_call>'],
    ['chatml', '<tool_call>{"name": "tools.lamp", "arguments": {"on": true}}</tool_call>'],
  ])('is read in %s, and marked as repaired: %s', (name, text) => {
    expect(read(text, name)).toEqual({ calls: [['lamp', true]], answer: '', unread: 0 });
  });

  it('of another tool stays what it is', () => {
    expect(read('<act>door:door<with>{"on": yes}</act>')).toMatchObject({ calls: [], unread: 1 });
    expect(read('<tool_call>{"name": "lamps", "arguments": {}}</tool_call>', 'chatml').calls).toEqual([
      ['lamps', false],
    ]);
  });
});

it.each([
  ['functions.lamp', 'lamp'],
  ['tools.lamp', 'lamp'],
  ['/lamp', 'lamp'],
  ['functions_lamp_1', 'lamp'],
  ['functionslamp5', 'lamp'],
  ['lampjson', 'lamp'],
  ['readcode', 'read'],
  ['lamp2', 'lamp2'],
  ['readme', 'readme'],
  ['toollamp', 'toollamp'],
  ['my.lamp', 'my.lamp'],
])('the name %s means %s', (written, name) => {
  const call = { name: written, arguments: new Map(), raw: '', repaired: false };
  expect(withOfferedName(call, tools)).toEqual({ ...call, name, repaired: name !== written });
});
