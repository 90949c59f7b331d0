import { describe, expect, it } from 'vitest';
import type { CallLayout } from '../../../../src/chat/dialect/layout.ts';
import { nativeFormat } from '../../../../src/chat/dialect/nativeFormat.ts';
import { keyValueCalls, linesCalls, namedJsonCalls, pythonCalls } from '../../../helpers/callLayouts.ts';

// The last column: what the text holds when one more of its calls is complete.
const cases: readonly (readonly [string, CallLayout, string, readonly string[]])[] = [
  ['named JSON', namedJsonCalls, '<calls><call>look<args>{"at": "lamp", "near": true}</call></calls>', ['true}']],
  [
    'tagged parameters',
    linesCalls,
    '<tool>\n<do=look>\n<arg=at>\nlamp\n</arg>\n<arg=near>\nTrue\n</arg>\n</do>\n</tool>',
    ['</do>'],
  ],
  ['keys and values', keyValueCalls, '<tool>call:look{near:true,at:<|s|>the lamp<|s|>}</tool>', ['<|s|>}']],
  ['Python calls', pythonCalls, "<calls>[look(at='lamp', near=True), wait(seconds=3)]</calls>", ['True)', '=3)']],
];

describe('a reply that ends inside a call', () => {
  it.each(cases)('has only the calls that are complete: %s', (_, layout, text, completions) => {
    const format = nativeFormat(layout);
    const anchorLength = text.indexOf('>') + 1;
    for (let end = 1; end <= text.length; end++) {
      const cut = text.slice(0, end);
      const complete = completions.filter((completion) => cut.includes(completion)).length;
      const { calls, truncated } = format.detect(cut);
      expect([cut, calls.length]).toEqual([cut, complete]);
      if (end > anchorLength && complete === 0) expect([cut, truncated]).toEqual([cut, true]);
    }
  });
});
