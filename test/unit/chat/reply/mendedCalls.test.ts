import { describe, expect, it } from 'vitest';
import { formatsOf } from '../../../../src/chat/dialect/nativeFormat.ts';
import { chatml } from '../../../../src/chat/formats/chatml.ts';
import { formats } from '../../../../src/chat/formats/index.ts';
import { parseReply } from '../../../../src/chat/reply/parseReply.ts';
import { withOfferedName } from '../../../../src/chat/reply/parseReply.ts';
import { probeChatTemplate } from '../../../../src/chat/template/chatTemplate.ts';
import { namedJsonTemplate } from '../../../helpers/dialectTemplates.ts';
import { createTool } from '../../../helpers/toolCalls.ts';

const tools = [createTool({ name: 'lamp' }), createTool({ name: 'read' }), createTool({ name: 'set_light' })];
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
    ['chatml', '<tool_call>{"name": "Lamp", "arguments": {"on": true}}</tool_call>'],
    ['chatml', '<tool_call>\nlamp\n{"on": true}\n</tool_call>'],
    ['chatml', '<tool_call>lamp({"on": true})</tool_call>'],
    ['chatml', '<tool_call>lamp(on=True)</tool_call>'],
    ['chatml', '<tool_call>{"lamp": {"on": true}}</tool_call>'],
    ['chatml', '<tool_call>{"name": "lamp", {"on": true}}</tool_call>'],
    ['chatml', '<tool_call>call:lamp{on:<|"|>true<|"|>}</tool_call>'],
    ['chatml', '<function=lamp{"on": true}</function>'],
    ['chatml', '<function>lamp{"on": true}</function>'],
    ['chatml', '<function="lamp">{"on": true}</function>'],
    ['chatml', '<function=lamp/></function>'],
    ['chatml', '<|python_tag|>lamp.call(on=True)'],
    ['mistral', 'lamp[ARGS]{"on": true}'],
    ['mistral', 'lamp[CALL_ID]a1b2c3d4e[ARGS]{"on": true}'],
    ['mistral', '[TOOL_CALLS]lamp(on=True)'],
    ['native', '<act>lamp</act>'],
    ['native', '<act>lamp: lamp{on: "yes"}</act>'],
    ['chatml', '<tool_call>lamp:lamp{"on": true}</tool_call>'],
    ['native', '<act>lamp()</act>'],
    ['native', '<act>lamp(on=True)</act>'],
    ['mistral', '[TOOL_CALLS][{"name": "lamp", "arguments": {"on": yes}}]'],
    ['mistral', '[TOOL_CALLS]lamp[ARGS]{"on": yes}'],
    ['native', '<act>lamp<with>{"on": 5 times}</act>'],
    ['chatml', '<tool_call>{"name": "lamp", "arguments": {"on": 5 times}}</tool_call>'],
    ['chatml', '<tool_call>{"name": "lamp", "arguments": {"on": +5}}</tool_call>'],
    ['chatml', '<tool_call>{“name”: “lamp”, “arguments”: {“on”: “yes”}}</tool_call>'],
  ])('is read in %s, and marked as repaired: %s', (name, text) => {
    expect(read(text, name)).toEqual({ calls: [['lamp', true]], answer: '', unread: 0 });
  });

  it('has the arguments of its notation', () => {
    const argumentsOf = (text: string) => parseReply(text, chatml, { tools }).calls.map((call) => [...call.arguments]);
    const text = `<tool_call>lamp(room='a=b, c="d"', on = True)</tool_call>`;
    expect(argumentsOf(text)).toEqual([Object.entries({ room: 'a=b, c="d"', on: true })]);
    expect(argumentsOf('<tool_call>lamp()</tool_call>')).toEqual([[]]);
    expect(argumentsOf('<tool_call>lamp("attic")</tool_call>')).toEqual([]);
  });

  it.each([
    '<tool_call>lamp',
    '<function=lamp>',
    '<tool_call>lamp<function=',
    '[TOOL_CALLS]lamp[ARGS]',
    '<tool_call>lamps</tool_call>',
    '<tool_call>the lamp is on</tool_call>',
  ])('is none where arguments and a closing mark are missing: %s', (text) => {
    expect(read(text, 'chatml').calls).toEqual([]);
  });

  it('stands in the order of the text, between the calls around it', () => {
    const call = (name: string): string => `<tool_call>{"name": "${name}", "arguments": {}}</tool_call>`;
    const damaged = '<tool_call>{"name": "read", "arguments": {"on": 5 times}}</tool_call>';
    const texts = [
      [call('lamp'), damaged, call('set_light')],
      [damaged, call('lamp'), call('lamp')],
    ];
    expect(texts.map((parts) => read(parts.join('\n'), 'chatml').calls.map(([name]) => name))).toEqual([
      ['lamp', 'read', 'set_light'],
      ['read', 'lamp', 'lamp'],
    ]);
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
  ['lamp.json', 'lamp'],
  ['Lamp', 'lamp'],
  [' lamp', 'lamp'],
  ['lamp()', 'lamp'],
  ['lamp/', 'lamp'],
  ['lamp_0', 'lamp'],
  ['lamp:1', 'lamp'],
  ['call_lamp', 'lamp'],
  ['call_lamp_1', 'lamp'],
  ['set-light', 'set_light'],
  ['lamp_x', 'lamp_x'],
  ['clamp', 'clamp'],
  ['readcode', 'read'],
  ['lamp2', 'lamp2'],
  ['readme', 'readme'],
  ['toollamp', 'toollamp'],
  ['my.lamp', 'my.lamp'],
])('the name %s means %s', (written, name) => {
  const call = { name: written, arguments: new Map(), raw: '', repaired: false };
  expect(withOfferedName(call, tools)).toEqual({ ...call, name, repaired: name !== written });
});
