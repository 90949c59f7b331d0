import { expect, it, vi } from 'vitest';
import { expand } from '../../../../src/chat/grammar/expand.ts';
import { GrammarMatcher } from '../../../../src/chat/grammar/matcher.ts';
import { text } from '../../../../src/chat/grammar/rule.ts';

vi.mock('../../../../src/chat/grammar/expand.ts', { spy: true });

/** How many states a matcher goes through while it reads a text. */
function statesOf(matcher: GrammarMatcher, newText: string): number {
  vi.mocked(expand).mockClear();
  matcher.accept(newText);
  return vi.mocked(expand).mock.calls.length;
}

it('takes as many steps for a long literal as for a short one, wherever a text leaves it', () => {
  const states = [10, 2000].map((length) => {
    const literal = 'ab'.repeat(length);
    const start = GrammarMatcher.start(text(literal));
    const texts = [literal, literal.slice(0, -1), `${literal.slice(0, -1)}!`, `${literal}${literal}`, '!'];
    return texts.map((newText) => statesOf(start, newText));
  });
  expect(states[1]).toEqual(states[0]);
});
