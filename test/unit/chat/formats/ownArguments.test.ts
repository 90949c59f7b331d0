import { describe, expect, it } from 'vitest';
import { readObjectArguments, readOwnArguments } from '../../../../src/chat/formats/ownArguments.ts';
import { stringifyJson } from '../../../../src/chat/json/value.ts';
import { createTool } from '../../../helpers/toolCalls.ts';

const closing = /END/y;
const tool = createTool({ parameters: [{ name: 'x', type: 'string' }] });
const number = createTool({ parameters: [{ name: 'x', type: 'integer' }] });
const two = createTool({
  parameters: [
    { name: 'x', type: 'string' },
    { name: 'y', type: 'string' },
  ],
});

/** The arguments of a text up to `|`, with `repaired`, and what stands after them; or why there are none. */
function read(text: string, options: { readonly tool?: typeof tool; readonly isCutOff?: boolean } = {}): string {
  const limit = text.includes('|') ? text.indexOf('|') : text.length;
  const result = readOwnArguments(text, 0, { tool: undefined, isCutOff: false, closing, limit, ...options });
  if (!('end' in result)) return `${result.reason}${result.isUnclosed ? ' (unclosed)' : ''}`;
  return `${stringifyJson(result.arguments)}${result.repaired ? ' repaired' : ''}, ${text.slice(result.end)}`;
}

describe('arguments on their own', () => {
  it.each([
    ['are a JSON object', ' {"a": 1} b', '{"a": 1},  b'],
    ['may be in a code fence', '\n```json\n{"a": 1}\n```\nb', '{"a": 1}, \nb'],
    ['may hold what begins something else', '{"a": "b|"} c', '{"a": "b|"},  c'],
    ['may have single quotes', "{'a': True}", '{"a": true} repaired, '],
    ['may lack a bracket before something else', '{"a": {"b": 1}\nEND of it', '{"a": {"b": 1}} repaired, \nEND of it'],
    ['may be in a string', '"{\\"a\\": 1}"', '{"a": 1}, '],
    ['may be absent', ' |END', '{}, |END'],
    ['may be a word for none', 'None\nb', '{}, \nb'],
    ['may be empty', '{}', '{}, '],
    ['may not be malformed', '{"a" 1}', 'the JSON of its arguments is malformed'],
    ['may not be open', '{"a": "b', 'the JSON of its arguments is not closed (unclosed)'],
    ['may not be a list', '["a"]', 'its arguments are no JSON object'],
    ['may not be an open list', '["a', 'its arguments are no JSON object (unclosed)'],
    ['may not be the declaration of a tool', '{"type": "object"}', 'its arguments repeat the declaration of a tool'],
    ['may not be text', 'a', 'its arguments are no JSON object'],
  ])('%s', (_, text, expected) => expect(read(text)).toBe(expected));

  it.each([
    ['one line of text', 'a b\n|c', tool, '{"x": "a b"} repaired, \n|c'],
    ['a string', '"a b"', tool, '{"x": "a b"} repaired, '],
    ['two lines of text', 'a\nb', tool, 'its arguments are no JSON object'],
    ['a list', '["a"]', tool, 'its arguments are no JSON object'],
    ['a string with text after it', '"a" b', tool, 'its arguments are no JSON object'],
    ['text for a number', '7', number, 'its arguments are no JSON object'],
    ['text for two parameters', 'a', two, 'its arguments are no JSON object'],
  ])('are the value of a tool with one string, if it is one: %s', (_, text, given, expected) => {
    expect(read(text, { tool: given })).toMatch(expected);
  });

  it('are absent at the end of the text only for a tool without parameters', () => {
    expect(read(' ', { tool: createTool({ parameters: [] }) })).toBe('{}, ');
    expect(read(' ', { tool })).toBe('its arguments are cut off (unclosed)');
    expect(read(' ')).toBe('its arguments are cut off (unclosed)');
  });

  it('are cut off where the token limit ends the text and nothing closes them', () => {
    expect(read('a b', { tool, isCutOff: true })).toBe('its arguments are cut off (unclosed)');
    expect(read('', { tool, isCutOff: true })).toBe('its arguments are cut off (unclosed)');
    expect(read('a b\n|c', { tool, isCutOff: true })).toBe('{"x": "a b"} repaired, \n|c');
    expect(read('{"x": "a"}', { tool, isCutOff: true })).toBe('{"x": "a"}, ');
  });

  it('end after the brackets that follow them', () => {
    const text = '{"a": 1}}] b';
    expect(readObjectArguments(text, 0, closing)).toMatchObject({ end: text.indexOf(' b') });
  });
});
