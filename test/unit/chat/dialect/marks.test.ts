import { describe, expect, it } from 'vitest';
import { fits } from '../../../../src/chat/grammar/matcher.ts';
import { all, tag, text } from '../../../../src/chat/grammar/rule.ts';
import { lexemes, literalRule } from '../../../../src/chat/dialect/layout.ts';

describe('the lexemes of a text', () => {
  it.each([
    ['<tool_call>\n<function=', ['<tool_call>', '\n', '<', 'function', '=']],
    ['</parameter>\n</function>', ['</parameter>', '\n', '</function>']],
    ['[TOOL_CALLS] [{"a"', ['[TOOL_CALLS]', ' ', '[', '{', '"', 'a', '"']],
    ['{city:<|"|>Zürich<|"|>}', ['{', 'city', ':', '<|"|>', 'Zürich', '<|"|>', '}']],
    ['<｜DSML｜invoke name="', ['<', '｜', 'DSML', '｜', 'invoke', ' ', 'name', '=', '"']],
    ['a < b > c', ['a', ' ', '<', ' ', 'b', ' ', '>', ' ', 'c']],
    ['👋👋', ['👋', '👋']],
    ['', []],
  ])('splits %j', (content, expected) => {
    expect(lexemes(content)).toEqual(expected);
    expect(lexemes(content).join('')).toBe(content);
  });
});

describe('the rule of a literal', () => {
  it('lets each mark be one control token, and the rest plain text', () => {
    expect(literalRule('\n</arg>\n<call|>')).toEqual(all(text('\n'), tag('</arg>'), text('\n'), tag('<call|>')));
    expect(literalRule('[ARGS]')).toEqual(tag('[ARGS]'));
    expect(literalRule(', ')).toEqual(text(', '));
  });

  it('matches the literal and nothing else', () => {
    for (const literal of ['', '<a>', 'a<b', '<|"|>,x:<|"|>']) {
      expect(fits(literal, literalRule(literal))).toBe(true);
      expect(fits(`${literal}x`, literalRule(literal))).toBe(false);
    }
  });
});
