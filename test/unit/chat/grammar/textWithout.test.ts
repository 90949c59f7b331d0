import { describe, expect, it } from 'vitest';
import { GrammarMatcher, fits } from '../../../../src/chat/grammar/matcher.ts';
import { textWithout } from '../../../../src/chat/grammar/textWithout.ts';
import { isWhole } from '../../../helpers/depth.ts';

const maxLength = isWhole ? 6 : 4;

/** All texts of some letters up to a length. */
function textsOf(letters: string, maxLength: number): readonly string[] {
  const texts = [''];
  for (let index = 0; index < texts.length; index++) {
    const text = texts[index] ?? '';
    if (text.length < maxLength) texts.push(...[...letters].map((letter) => text + letter));
  }
  return texts;
}

describe('a text without literals', () => {
  it.each([
    ['<ab', '<abc', ['<ab']],
    ['</a>', '</a>x', ['</a>']],
    ['<a and <b', '<abc', ['<a', '<bc']],
    ['one literal that begins another', '<ab', ['<a', '<ab']],
    ['literals with different beginnings', '<"ab', ['<a', '"b']],
    ['one character', '"a', ['"']],
  ])('is every text in which none of them occurs: %s', (_, letters, literals) => {
    const rule = textWithout(literals, { min: 0 });
    for (const text of textsOf(letters, maxLength)) {
      expect(fits(text, rule), text).toBe(!literals.some((literal) => text.includes(literal)));
    }
  });

  it.each([[['"""']], [['<a<b']], [['aab']], [['"a"b']]])(
    'never contains %j, of which the first character comes again',
    (literals) => {
      const rule = textWithout(literals, { min: 0 });
      const matching = textsOf('<"ab', maxLength).filter((text) => fits(text, rule));
      expect(matching.filter((text) => literals.some((literal) => text.includes(literal)))).toEqual([]);
      expect(matching.length).toBeGreaterThan(10);
    },
  );

  it('has a limited number of characters', () => {
    const literals = ['</a>'];
    const fitsLimits = (text: string, min: number, max?: number): boolean =>
      fits(text, textWithout(literals, { min, ...(max !== undefined && { max }) }));
    expect(['', 'é', '👋👋', 'abc', 'abcd'].map((text) => fitsLimits(text, 1, 3))).toEqual([
      false,
      true,
      true,
      true,
      false,
    ]);
    expect(['', 'a', 'ab', '<b', 'a<b', 'ab</b>'].map((text) => fitsLimits(text, 2))).toEqual([
      false,
      false,
      true,
      false,
      true,
      true,
    ]);
  });

  it('has line breaks, but no other control characters', () => {
    const rule = textWithout(['</a>'], { min: 0 });
    expect(fits('a\r\n\tb', rule)).toBe(true);
    expect(fits('a\u0000b', rule)).toBe(false);
    expect(fits('a\u001bb', rule)).toBe(false);
  });

  it('keeps few alternatives, however long it gets', () => {
    const rule = textWithout(['</parameter>', '<parameter='], { min: 0 });
    const { matcher, length } = GrammarMatcher.start(rule).accept('a < b </p <<</parameter'.repeat(200));
    expect(length).toBe(4600);
    expect(matcher.stacks.length).toBeLessThan(20);
  });
});
