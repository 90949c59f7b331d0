import { expect, it } from 'vitest';
import { formats } from '../../../../src/chat/formats/index.ts';
import { parseReply } from '../../../../src/chat/reply/parseReply.ts';
import { withConfidence } from '../../../../src/graph/nodes/toolCall/confidence.ts';

/** A reply in which each marked word has its probability: `«on|0.5»`. */
function confidencesOf(marked: string): readonly (number | undefined)[] {
  const choices: { start: number; end: number; probability: number }[] = [];
  let text = '';
  for (const [, before = '', word = '', probability = ''] of marked.matchAll(/([^]*?)(?:«([^|]*)\|([\d.]+)»|$)/g)) {
    text += before;
    if (probability !== '')
      choices.push({ start: text.length, end: text.length + word.length, probability: Number(probability) });
    text += word;
  }
  const format = formats.get('chatml');
  if (!format) throw new Error('chatml');
  return withConfidence(parseReply(text, format).calls, { text, choices }).map(({ confidence }) => confidence);
}

it.each([
  ['the name counts', '<tool_call>{"name": "«set|0.4»_light", "arguments": {"on": true}}</tool_call>', [0.4]],
  [
    'all arguments count, and the name',
    '<tool_call>{"name": "«f|0.5»", "arguments": {"a": "«x|0.5»", "b": «2|0.75»}}</tool_call>',
    [0.1875],
  ],
  [
    'what is around the call does not',
    '«Well|0.1»\n<tool_call>{"«name|0.2»": "f", "arguments": {}}</tool_call> «so|0.1»',
    [1],
  ],
  [
    'a thought does not',
    '<tool_call>{"name": "f", "arguments": {"thought": "«hm|0.1»", "a": «1|0.9»}}</tool_call>',
    [0.9],
  ],
  [
    'a thought does not, with the names of arguments in it',
    '<tool_call>{"name": "f", "arguments": {"thought": "a is «hm|0.1»", "a": «1|0.9»}}</tool_call>',
    [0.9],
  ],
  [
    'a text that speaks of a thought does',
    '<tool_call>{"name": "f", "arguments": {"a": "a thought «hm|0.1»", "thought": "so"}}</tool_call>',
    [0.1],
  ],
  [
    'what reasoning drafts does not',
    '<think>{"name": "f", "arguments": {"a": «1|0.2»}}</think>{"name": "f", "arguments": {"a": «1|0.9»}}',
    [0.9],
  ],
  ['arguments may come first', '<tool_call>{"arguments": {"a": «1|0.6»}, "name": "f"}</tool_call>', [0.6]],
  [
    'a key within a value is none',
    '<tool_call>{"name": "f", "arguments": {"city": "L«ond|0.5»on", "on": true}}</tool_call>',
    [0.5],
  ],
  [
    'of several calls each has its own',
    '<tool_call>{"name": "f", "arguments": {"a": «1|0.6»}}</tool_call><tool_call>{"name": "f", "arguments": {"a": «1|0.8»}}</tool_call>',
    [0.6, 0.8],
  ],
])('of the tokens of a call: %s', (_, text, expected) => {
  expect(confidencesOf(text)).toEqual(expected);
});

it('of a mended call it counts wherever the call stands, and of several in one text for each', () => {
  const text = 'f(a=1); f(a=1, b=2) g(c=3)';
  const called = (name: string, keys: string, raw: string) => ({
    name,
    arguments: new Map([...keys].map((key) => [key, '1'] as const)),
    raw,
    repaired: true,
  });
  const block = text.slice(0, 19);
  const calls = [called('g', 'c', 'g(c=3)'), called('f', 'a', block), called('f', 'ab', block)];
  const choices = [
    { start: 17, end: 18, probability: 0.3 },
    { start: 24, end: 25, probability: 0.8 },
  ];
  expect(withConfidence(calls, { text, choices }).map(({ confidence }) => confidence)).toEqual([0.8, 0.3, 0.3]);
});

it('knows none without the probabilities', () => {
  const call = { name: 'f', arguments: new Map(), raw: 'f()', repaired: false };
  expect(withConfidence([call], { text: 'f()' })).toEqual([call]);
});
