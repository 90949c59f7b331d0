import { describe, expect, it } from 'vitest';
import { withoutOpenFence } from '../../../src/chat/markdownCode.ts';
import { afterValue } from '../../../src/chat/formats/ownArguments.ts';

describe('a code fence at the end of a text', () => {
  it.each([
    ['is removed where it opens nothing', 'a\n```json', 'a'],
    ['is removed where nothing opens it', 'a\n```', 'a'],
    ['stays where it closes code', '```\na\n```', '```\na\n```'],
    ['stays where text follows it', '```\na', '```\na'],
    ['is not there', 'a ', 'a'],
  ])('%s', (_, text, expected) => expect(withoutOpenFence(text)).toBe(expected));
});

describe('what follows a value', () => {
  it.each([
    ['is a bracket', '}] a', ' a'],
    ['is a closing tag', '</tool_call>\na', '\na'],
    ['is the end of a code fence', '\n```\na', '\na'],
    ['is text', ' a', ' a'],
  ])('%s', (_, text, rest) => expect(text.slice(afterValue(text, 0))).toBe(rest));
});
