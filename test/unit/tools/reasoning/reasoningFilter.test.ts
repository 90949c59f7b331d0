import { describe, expect, it } from 'vitest';
import { ReasoningFilter, stripReasoning } from '../../../../src/tools/reasoning/reasoningFilter.ts';

describe('reasoning in a text on its way out', () => {
  it.each([
    ['nothing but words', 'Hello there.', 'Hello there.', ''],
    ['reasoning first', '<think>a plan</think>\n\nHello.', 'Hello.', 'a plan'],
    ['Mistral’s marks', '[THINK]a plan[/THINK]Hello.', 'Hello.', 'a plan'],
    ['reasoning in the middle', 'Well, <think>hm</think> yes.', 'Well,  yes.', 'hm'],
    ['reasoning twice', '<think>a</think>x<think>b</think>y', 'xy', 'ab'],
    ['the other kind of mark inside', '<think>a [THINK] b</think>x', 'x', 'a [THINK] b'],
    ['no end of it', '<think>on and on', '', 'on and on'],
    ['less than a mark', 'a < b, <thin, [THIN', 'a < b, <thin, [THIN', ''],
    ['nothing', '', '', ''],
  ])('is set apart whatever the pieces: %s', (_, text, said, reasoning) => {
    for (let size = 1; size <= text.length + 1; size++) {
      const stream = new ReasoningFilter();
      let out = '';
      for (let at = 0; at < text.length; at += size) out += stream.push(text.slice(at, at + size));
      expect(out + stream.flush()).toBe(said);
      expect(stream.reasoning).toBe(reasoning);
    }
    expect(stripReasoning(text)).toBe(said);
  });
});
