import { describe, expect, it } from 'vitest';
import { cutOffKeyword, KeywordFinder, type AcceptInline } from '../../../../src/chat/formats/keywordLines.ts';

const names = ['use', 'use with', 'say'] as const;

/** The keywords of a text, each with what stands from it to the next one. */
function keywordsIn(text: string, acceptInline?: AcceptInline<(typeof names)[number]>): readonly string[] {
  const finder = new KeywordFinder(names, text);
  const found: string[] = [];
  for (let keyword = finder.next(0, acceptInline); keyword; keyword = finder.next(keyword.end, acceptInline))
    found.push(`${keyword.name} [${text.slice(keyword.start, keyword.end)}]`);
  return found;
}

describe('keywords at the start of lines', () => {
  it.each<[string, string, readonly string[]]>([
    ['are found in order', 'use: a\nuse with: b\nsay: c', ['use [use:]', 'use with [use with:]', 'say [say:]']],
    ['may be written in any case', 'USE: a\nUse With: b', ['use [USE:]', 'use with [Use With:]']],
    ['may have Markdown around them', '**use:** a\n- _say_: b', ['use [**use:**]', 'say [- _say_:]']],
    ['may have a number', 'use 1: a\nuse2: b', ['use [use 1:]', 'use [use2:]']],
    [
      'may lose the space in them, or have a line there',
      'usewith: a\nUse_With: b',
      ['use with [usewith:]', 'use with [Use_With:]'],
    ],
    ['may follow a control token', '<|x|>say: a', ['say [say:]']],
    ['are no parts of words', 'reuse: a\nuses: b', []],
    ['are no code', '`use: a`', []],
    ['need their colon', 'use a\nsay, b', []],
    ['do not count behind other text', 'I say: a', []],
  ])('%s', (_, text, expected) => expect(keywordsIn(text)).toEqual(expected));

  it('count behind other text where the format wants it', () => {
    expect(keywordsIn('I say: a, or use: b', ({ name }) => name === 'use')).toEqual(['use [use:]']);
  });

  it('do not count in reasoning', () => {
    expect(keywordsIn('<think>\nsay: a</think>use: b\n<think>\nsay: c')).toEqual(['use [use:]']);
  });
});

describe('a keyword that the text ends in', () => {
  it.each([
    ['a\nactio', 'actio'],
    ['**Action In', '**Action In'],
    ['a\n  action ', '  action '],
    ['act', ''],
    ['a\n----', ''],
    ['the actio', ''],
    ['action inputs', ''],
  ])('of %j is %j', (text, expected) => expect(cutOffKeyword(text, 'action input')).toBe(expected));
});
