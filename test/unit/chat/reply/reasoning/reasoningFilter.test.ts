import { describe, expect, it } from 'vitest';
import { ReasoningFilter, splitReply } from '../../../../../src/chat/reply/reasoning/splitReply.ts';

describe('reasoning in a streamed text', () => {
  it.each([
    ['no reasoning', 'Hello there.', 'Hello there.', ''],
    ['reasoning first', '<think>a plan</think>\n\nHello.', 'Hello.', 'a plan'],
    ['Mistral’s tags', '[THINK]a plan[/THINK]Hello.', 'Hello.', 'a plan'],
    ['reasoning in the middle', 'Well, <think>hm</think> yes.', 'Well,  yes.', 'hm'],
    ['reasoning twice', '<think>a</think>x<think>b</think>y', 'xy', 'ab'],
    ['the other kind of tag inside', '<think>a [THINK] b</think>x', 'x', 'a [THINK] b'],
    ['reasoning without an end', '<think>on and on', '', 'on and on'],
    ['less than a tag', 'a < b, <thin, [THIN', 'a < b, <thin, [THIN', ''],
    ['an empty text', '', '', ''],
  ])('is separated for any piece length: %s', (_, text, answer, reasoning) => {
    for (let size = 1; size <= text.length + 1; size++) {
      const stream = new ReasoningFilter();
      let out = '';
      for (let start = 0; start < text.length; start += size) out += stream.push(text.slice(start, start + size));
      expect(out + stream.flush()).toBe(answer);
      expect(stream.reasoning).toBe(reasoning);
    }
    expect(splitReply(text).content).toBe(answer);
  });
});
