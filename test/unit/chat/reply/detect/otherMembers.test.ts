import { describe, expect, it } from 'vitest';
import { stringifyJson } from '../../../../../src/chat/json/value.ts';
import { nativeFormat } from '../../../../../src/chat/dialect/nativeFormat.ts';
import { formats } from '../../../../../src/chat/formats/index.ts';
import { callsInTags } from '../../../../../src/chat/dialect/knownLayouts.ts';
import type { DetectOptions } from '../../../../../src/chat/tool.ts';

const all = new Map([...formats, ['native', nativeFormat(callsInTags)]]);
const inTag = (json: string): string => `<tool_call>\n${json}\n</tool_call>`;

/** The calls of a text as `name arguments`, with `repaired` and the thought where there are any. */
function read(text: string, options?: DetectOptions, formatName = 'chatml'): readonly unknown[] {
  const { calls, residual } = all.get(formatName)?.detect(text, options) ?? { calls: [], residual: '' };
  const found = calls.map(({ name, arguments: args, repaired, thought }) => [
    `${name} ${stringifyJson(args)}`,
    ...(repaired ? ['repaired'] : []),
    ...(thought === undefined ? [] : [thought]),
  ]);
  return residual === '' ? found : [...found, residual];
}

describe('a tagged call with other members', () => {
  it.each([
    '{"name": "f", "arguments": {"x": 1}, "reason": "because"}',
    '{"reason": "because", "name": "f", "arguments": {"x": 1}}',
    '{"name": "f", "confidence": 0.9, "arguments": {"x": 1}, "id": "c1"}',
    '{"tool": "f", "args": {"x": 1}, "why": {"a": [1]}}',
    '[{"name": "f", "arguments": "{\\"x\\": 1}", "reason": null}]',
    '{"function": {"name": "f", "arguments": {"x": 1}, "reason": "because"}}',
    "{'name': 'f', 'arguments': {'x': 1}, 'reason': 'because'}",
  ])('is read without them, as a repair: %s', (json) => {
    for (const format of all.keys()) expect(read(inTag(json), {}, format)).toEqual([['f {"x": 1}', 'repaired']]);
    for (const tag of ['<function_call>', '<|python_tag|>', '[TOOL_CALLS]'])
      expect(read(tag + json)).toEqual([['f {"x": 1}', 'repaired']]);
  });

  it.each(['type', 'id', 'call_id', 'tool_call_id', 'index'])('needs no repair for the member %s', (key) => {
    expect(read(inTag(`{"name": "f", "arguments": {}, "${key}": "a"}`))).toEqual([['f {}']]);
  });

  it.each([
    ['there are no arguments', '{"name": "f", "reason": "because"}'],
    ['there is no name', '{"arguments": {}, "reason": "because"}'],
    ['it has a description', '{"name": "f", "description": "d", "arguments": {"x": 1}}'],
    ['its arguments are a JSON Schema', '{"name": "f", "parameters": {"type": "object"}, "strict": true}'],
    ['its arguments are no object', '{"name": "f", "arguments": [1], "reason": "because"}'],
    ['it has two names', '{"name": "f", "tool": "g", "arguments": {}}'],
    ['it has its arguments twice', '{"name": "f", "arguments": {}, "parameters": {}}'],
    ['it has other calls in it', '{"name": "f", "arguments": {}, "tool_calls": []}'],
  ])('is no call where %s', (_, json) => expect(read(inTag(json))).toEqual([inTag(json)]));

  it('is no call without a tag', () => {
    const json = '{"name": "f", "arguments": {"x": 1}, "reason": "because"}';
    expect(read(json)).toEqual([json]);
    expect(read(`So: ${json}`)).toEqual([`So: ${json}`]);
  });
});

describe('the thought of a call', () => {
  const json = '{"thought": "it is dark", "name": "f", "arguments": {"x": 1}}';

  it('is kept, and is a repair unless it is expected', () => {
    expect(read(inTag(json))).toEqual([['f {"x": 1}', 'repaired', 'it is dark']]);
    expect(read(inTag(json), { thought: true })).toEqual([['f {"x": 1}', 'it is dark']]);
  });

  it('is read without a tag only where it is expected', () => {
    expect(read(json)).toEqual([json]);
    expect(read(json, { thought: true })).toEqual([['f {"x": 1}', 'it is dark']]);
    expect(read(`So:\n${json}`, { thought: true })).toEqual([['f {"x": 1}', 'it is dark'], 'So:']);
    expect(read('{"thought": "it is dark", "tool": "f"}', { thought: true }, 'generic')).toEqual([
      ['f {}', 'it is dark'],
    ]);
  });

  it.each([
    ['is not the first member', '{"name": "f", "thought": "it is dark", "arguments": {"x": 1}}'],
    ['is no text', '{"thought": ["it is dark"], "name": "f", "arguments": {"x": 1}}'],
  ])('is another member where it %s', (_, other) => {
    expect(read(inTag(other), { thought: true })).toEqual([['f {"x": 1}', 'repaired']]);
  });

  it('needs no repair, but another member does', () => {
    const both = '{"thought": "it is dark", "name": "f", "arguments": {}, "reason": "because"}';
    expect(read(inTag(both), { thought: true })).toEqual([['f {}', 'repaired', 'it is dark']]);
  });
});
