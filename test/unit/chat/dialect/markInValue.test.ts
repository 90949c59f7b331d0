import { describe, expect, it } from 'vitest';
import { nativeFormat } from '../../../../src/chat/dialect/nativeFormat.ts';
import { parseReply } from '../../../../src/chat/reply/parseReply.ts';
import { stringifyJson } from '../../../../src/chat/json/value.ts';
import { namedJsonCalls } from '../../../helpers/callLayouts.ts';

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
