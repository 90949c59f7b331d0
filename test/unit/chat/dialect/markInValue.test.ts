import { describe, expect, it } from 'vitest';
import { llama3 } from '../../../../src/chat/formats/llama3.ts';
import { nativeFormat } from '../../../../src/chat/dialect/nativeFormat.ts';
import { parseReply } from '../../../../src/chat/reply/parseReply.ts';
import { stringifyJson } from '../../../../src/chat/json/value.ts';
import { namedJsonCalls } from '../../../helpers/callLayouts.ts';
import { createTool } from '../../../helpers/toolCalls.ts';

const native = nativeFormat(namedJsonCalls);
const call = (value: string): string => `<calls><call>look<args>{"at": "${value}"}</call></calls>`;
const read = (text: string) => {
  const { calls, content, reasoning } = parseReply(text, native);
  return { values: calls.map(({ arguments: args }) => stringifyJson(args)), content, reasoning };
};

describe('a mark of reasoning in a value of a call', () => {
  it.each(['a <think> b', 'a </think> b', 'a <think> b </think> c'])('is a part of the value: %s', (value) => {
    expect(read(call(value))).toEqual({ values: [`{"at": "${value}"}`], content: '', reasoning: '' });
  });

  it.each(['a <think> b', 'a </think> b', '</think>', 'a <think> b </think> c'])(
    'is a part of the value of a call in bare JSON: %s',
    (value) => {
      const text = ` {"name": "look", "parameters": {"at": "${value}"}}\n`;
      const { calls, answer, reasoning } = parseReply(text, llama3, { tools: [createTool({ name: 'look' })] });
      expect(calls.map(({ arguments: args }) => stringifyJson(args))).toEqual([`{"at": "${value}"}`]);
      expect([answer, reasoning]).toEqual(['', '']);
    },
  );

  it('ends reasoning after a call in bare JSON that was only thought of', () => {
    const text = '{"name": "look", "parameters": {}} would help.</think>It is off.';
    const reply = parseReply(text, llama3, { tools: [createTool({ name: 'look' })] });
    expect(reply).toMatchObject({ calls: [], answer: 'It is off.' });
  });

  it('does not count where the reply has a call after it', () => {
    const text = `${call('a').slice(0, -20)}</think>${call('lamp')}`;
    expect(read(text).values).toEqual(['{"at": "lamp"}']);
  });

  it.each([
    ['a call that was only thought of precedes it', `${call('lamp')} would help.</think>It is off.`],
    ['other words precede the call', `I could write ${call('a </think> b')}`],
  ])('ends reasoning where %s', (_, text) => {
    expect(read(text).values).toEqual([]);
    expect(read(text).reasoning).not.toBe('');
  });
});
