import { describe, expect, it } from 'vitest';
import { foldText } from '../../../src/base/foldText.ts';

describe('a folded text', () => {
  it.each([
    ['composed and decomposed letters', 'cafe\u0301', 'café'],
    ['syllables and their letters', '\u1112\u1161\u11ab', '한'],
    ['full width', 'ｐａｓｓ　ｗｏｒｄ１', 'pass word1'],
    ['half width', 'ﾊﾟｽﾜｰﾄﾞ', 'パスワード'],
    ['ligatures and mathematical letters', 'ﬁre 𝐩𝐚𝐬𝐬', 'fire pass'],
    ['zero-width characters', 'pa\u200bss\u2060wo\ufeffrd', 'password'],
    ['soft hyphens', 'pass\u00adword', 'password'],
    ['variation selectors', '❤\ufe0f', '❤'],
    ['no-break and other spaces', 'a\u00a0b\u202fc\u2003d\u1680e', 'a b c d e'],
    ['tatweel', 'الـسـر', 'السر'],
    ['vowel points of Arabic', 'كَلِمَةٌ', 'كلمة'],
    ['vowel points of Hebrew', 'סִיסְמָה', 'סיסמה'],
    ['points in other forms', '\ufb2a\ufe77', 'ש'],
    ['stress marks', 'ко\u0301т, бЕ\u0308\u0301, и\u0301\u0306', 'кот, бЁ, й'],
    ['line separators', 'a\u2028b\u0085c', 'a\nb\nc'],
  ])('has no difference of %s', (_, text, folded) => {
    expect(foldText(text)).toBe(folded);
    expect(foldText(folded)).toBe(folded);
  });

  it.each(['Straße', 'ты дурак', 'a  b\r\n\tc', 'naïve', 'ѓ ќ', 'с\u0301', 'أ آ ئ', '\ud800 alone'])(
    'keeps case, accents and spaces: %j',
    (text) => {
      expect(foldText(text)).toBe(text);
    },
  );

  it('does not take longer for each mark than for the one before', () => {
    expect(foldText(`a${'\u0301\u0323'.repeat(50_000)}`)).toHaveLength(30);
  });
});
